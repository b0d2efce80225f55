-- Fixed windows: the state is a count and the moment of the latest spending, which is the key's clock. It never goes back.

-- The aligned window that holds `at`; nil if the caller's calendar does not reach that far.
local function even_window(limit, at)
  local start = at - at % limit[3]
  return start, start + limit[3]
end

local function calendar_window(limit, at)
  for bound = 3, 5 do
    if at >= limit[bound] and at < limit[bound + 1] then
      return limit[bound], limit[bound + 1]
    end
  end
end

-- limit: kind, quota, window; or kind, quota and four moments at which windows begin.
local function fixed_kind(window_at)
  return {
    load = function(limit, value, empty_since)
      local used, last, lives_until = 0, 0, 0
      if value and #value == 20 then
        used, last, lives_until = unpack_struct('<ddI4', value)
        if last > now + BACKSTEP then
          used, last = 0, 0
        end
      end
      if empty_since then
        used, last = limit[2], math.max(last, empty_since)
      end
      return { used = used, last = last, lives_until = lives_until }
    end,
    look = function(limit, state, cost)
      local clock = clock_of(state.last)
      local start, stop = window_at(limit, clock)
      if not start then
        return LOST, 0, 0, 0
      end
      local used = state.last >= start and state.used or 0
      return judge(limit[2], used, cost, stop, used > 0 and stop or 0, stop)
    end,
    spend = function(limit, state, cost)
      local clock = clock_of(state.last)
      local start, stop = window_at(limit, clock)
      state.used = (state.last >= start and state.used or 0) + cost
      state.last, state.fresh_at = clock, stop
    end,
    give_back = function(limit, state, cost, spent_at)
      local start, stop = window_at(limit, state.last)
      if start and spent_at >= start and spent_at < stop then
        state.used = state.used > cost and state.used - cost or 0
      end
      state.fresh_at = stop or now
    end,
    write = function(key, state)
      save(key, pack('<dd', state.used, state.last), state.fresh_at, state.lives_until)
    end,
  }
end

kinds[3] = fixed_kind(even_window)
kinds[4] = fixed_kind(calendar_window)
