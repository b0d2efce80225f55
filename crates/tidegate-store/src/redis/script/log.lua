-- Sliding window log: the state is a string of records of 16 bytes, oldest first: the moment, and the units spent up to and with it.
-- So what was spent since any moment is one subtraction, and the moment at which something fits is found by halving. A first record
-- of moment -2^53 stands for what is forgotten. limit: kind, quota, window.
local RECORD = 16
-- Logs up to so many bytes are read whole.
local SHORT = 1024

-- The moment and the running total of a record, counted from 0.
local function record(state, key, index)
  if index < 0 then
    return 0, 0
  elseif index >= state.first then
    return unpack_struct('<dd', state.tail, (index - state.first) * RECORD + 1)
  end
  return unpack_struct('<dd', call('GETRANGE', key, index * RECORD, index * RECORD + RECORD - 1))
end

-- The first record for which `found` holds; `count` if there is none. Once it holds, it holds for all behind.
local function first_record(state, key, found)
  local low, high = 0, state.count
  while low < high do
    local middle = floor((low + high) / 2)
    if found(record(state, key, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- What of the log counts under a limit: `dead` records do not, `before` is their total.
local function count_log(limit, state)
  if state.window ~= limit[3] then
    local window = limit[3]
    state.window = window
    state.dead = first_record(state, state.key, function(at)
      return at + window > state.clock
    end)
    local _, before = record(state, state.key, state.dead - 1)
    state.before = before
  end
  return state.total - state.before + state.pending
end

kinds[6] = {
  load = function(limit, _, empty_since, key)
    local tail = call('GETRANGE', key, -SHORT, -1)
    local length = #tail < SHORT and #tail or call('STRLEN', key)
    local state = { key = key, tail = tail, count = length / RECORD, first = (length - #tail) / RECORD, pending = 0 }
    state.last, state.total = record(state, key, state.count - 1)
    if state.last > now + BACKSTEP then
      state = { key = key, tail = '', count = 0, first = 0, pending = 0, last = 0, total = 0 }
    end
    state.blocked_until = closed_until(limit, empty_since)
    state.clock = clock_of(state.last)
    return state
  end,
  look = function(limit, state, cost)
    local quota, window = limit[2], limit[3]
    local used = count_log(limit, state)
    if state.blocked_until then
      return judge(quota, quota, cost, state.blocked_until, state.blocked_until, 0)
    end
    local last = state.pending > 0 and state.clock or state.last
    local room_at, excess = 0, used + cost - quota
    if cost > 0 and excess > 0 and cost <= quota then
      local freed_with = state.before + excess
      local at = state.clock
      if freed_with <= state.total then
        at = record(state, state.key, first_record(state, state.key, function(_, total)
          return total >= freed_with
        end))
      end
      room_at = at + window
    end
    return judge(quota, used, cost, room_at, used > 0 and last + window or 0, state.clock + window)
  end,
  spend = function(limit, state, cost)
    state.pending, state.spender = state.pending + cost, limit[3]
  end,
  give_back = function(_, state, cost, spent_at)
    -- The spending is among the latest: those from its moment on are written anew.
    local at = first_record(state, state.key, function(moment)
      return moment >= spent_at
    end)
    local _, before = record(state, state.key, at - 1)
    local records, last = {}, before
    for index = at, state.count - 1 do
      local moment, total = record(state, state.key, index)
      total = total - cost > before and total - cost or before
      if total > last then
        records[#records + 1] = pack('<dd', moment, total)
        last = total
      end
    end
    state.rewritten_from, state.rewritten = at, table.concat(records)
  end,
  write = function(key, state)
    if state.rewritten then
      local kept = state.rewritten_from > 0 and call('GETRANGE', key, 0, state.rewritten_from * RECORD - 1) or ''
      local lives = call('PTTL', key)
      if #kept + #state.rewritten == 0 then
        call('DEL', key)
      elseif lives > 0 then
        call('SET', key, kept .. state.rewritten, 'PX', lives)
      end
      return
    end
    state.window = nil
    count_log({ 0, 0, state.spender }, state)
    local spent = pack('<dd', state.clock, state.total + state.pending)
    local count, lives = state.count, lifetime(state.clock + state.spender)
    if count > 0 and state.last == state.clock then
      count = count - 1
    end
    local forgotten = state.dead > 0 and pack('<dd', -EXACT, state.before) or ''
    if state.first == 0 then
      local kept = string.sub(state.tail, state.dead * RECORD + 1, count * RECORD)
      call('SET', key, forgotten .. kept .. spent, 'PX', lives)
    elseif state.dead > count / 2 then
      local kept = call('GETRANGE', key, state.dead * RECORD, count * RECORD - 1)
      call('SET', key, forgotten .. kept .. spent, 'PX', lives)
    else
      call('SETRANGE', key, count * RECORD, spent)
      call('PEXPIRE', key, lives)
    end
  end,
}
