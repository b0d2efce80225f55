-- Sliding window: the state is the counts of two aligned windows, and the moment of the latest spending, which is the key's clock.

-- The two windows that matter at the key's clock: what of the state falls into which. limit: kind, quota, window.
local function view(limit, state)
  local window = limit[3]
  local clock = clock_of(state.last)
  local start = clock - clock % window
  local current, previous = 0, 0
  local function place(units, at)
    if at >= start then
      current = current + units
    elseif at + window >= start then
      previous = previous + units
    end
  end
  place(state.current, state.last)
  place(state.previous, state.start > 0 and state.start - 1 or 0)
  return clock, start, current, previous
end

-- The longest overlap of which units * overlap / window <= room.
local function overlap_that_fits(room, units, window)
  if room >= units then
    return window
  end
  return (share(window, room, units))
end

kinds[5] = {
  load = function(limit, value, empty_since)
    local state = { start = 0, current = 0, previous = 0, last = 0, lives_until = 0 }
    if value and #value == 36 then
      local start, current, previous, last, lives_until = unpack_struct('<ddddI4', value)
      state.lives_until = lives_until
      if last <= now + BACKSTEP then
        state.start, state.current, state.previous, state.last = start, current, previous, last
      end
    end
    if empty_since then
      state.last = math.max(state.last, empty_since)
      state.start, state.current = state.last - state.last % limit[3], limit[2]
    end
    return state
  end,
  look = function(limit, state, cost)
    local quota, window = limit[2], limit[3]
    local clock, start, current, previous = view(limit, state)
    local stop = start + window
    local overlap = stop - clock
    local used = current + (overlap == window and previous or share_rounded_up(previous, overlap, window))
    local fresh_at = current > 0 and stop + window or previous > 0 and stop or 0
    local room_at, room = 0, quota - cost
    if room >= current then
      room_at = stop - overlap_that_fits(room - current, previous, window)
    elseif room >= 0 then
      room_at = stop + window - overlap_that_fits(room, current, window)
    end
    return judge(quota, used, cost, room_at, fresh_at, stop + window)
  end,
  spend = function(limit, state, cost)
    local clock, start, current, previous = view(limit, state)
    state.start, state.current, state.previous, state.last = start, current + cost, previous, clock
    state.fresh_at = start + 2 * limit[3]
  end,
  give_back = function(limit, state, cost, spent_at)
    local window = limit[3]
    if spent_at >= state.start and spent_at < state.start + window then
      state.current = state.current > cost and state.current - cost or 0
    elseif spent_at >= state.start - window and spent_at < state.start then
      state.previous = state.previous > cost and state.previous - cost or 0
    end
    state.fresh_at = state.start + 2 * window
  end,
  write = function(key, state)
    local fields = pack('<dddd', state.start, state.current, state.previous, state.last)
    save(key, fields, state.fresh_at, state.lives_until)
  end,
}
