-- Token and leaky bucket: the state is the moment at which the bucket will be full (tat), as a decimal number.

-- Cells of one length, as most rates have them. limit: kind, interval, burst, longest wait, span from full to empty.
-- Gives code, wait, remaining, reset and the tat after it.
local function decide_even(limit, tat, cost)
  local interval, burst, delay, span = limit[2], limit[3], limit[4], limit[5]
  local foreign = tat > now + span + delay + SKEW + 2
  local spent = (not foreign and tat > now) and tat - now or 0
  local used = ceil_div(spent, interval)
  local left = used < burst and burst - used or 0
  if cost == 0 then
    return ALLOW, 0, left, spent
  elseif cost > burst then
    return NEVER, 0, left, spent
  end
  local after = spent + cost * interval
  local wait = after > span and after - span or 0
  if wait > delay then
    return DENY, wait - delay, left, spent
  elseif foreign then
    -- Left by a limit that has changed since: one request passes and leaves the bucket empty.
    return ALLOW, 0, 0, span, now + span
  end
  return ALLOW, wait, left > cost and left - cost or 0, after, now + after
end

-- Cells that differ by a microsecond, for rates that do not divide their window: cell n begins at ceil(n * window / quota).
-- limit: kind, quota, window, burst, longest wait, span from full to empty.
local function position(limit, at)
  local quota, window = limit[2], limit[3]
  local windows = floor(at / window)
  local rest = at - windows * window
  local within = share(rest, quota, window)
  local phase = rest - share_rounded_up(window, within, quota)
  if phase < floor(window / quota) then
    return windows * quota + within, phase
  end
  -- A phase that only the longer cells have settles to the beginning of the next cell.
  return windows * quota + within + 1, 0
end

local function instant(limit, cell, phase)
  local quota, window = limit[2], limit[3]
  local windows = floor(cell / quota)
  return windows * window + share_rounded_up(window, cell - windows * quota, quota) + phase
end

local function ahead(limit, from, units)
  local cell, phase = position(limit, from)
  return instant(limit, cell + units, phase)
end

local function behind(limit, from, units)
  local cell, phase = position(limit, from)
  return cell < units and 0 or instant(limit, cell - units, phase)
end

local function units_between(limit, from, to)
  if to <= from then
    return 0
  end
  local from_cell, from_phase = position(limit, from)
  local to_cell, to_phase = position(limit, to)
  if to_cell < from_cell then
    return 0
  end
  return to_cell - from_cell + (to_phase > from_phase and 1 or 0)
end

-- The first moment that settles where `at` does.
local function earliest(limit, at)
  local cell, phase = position(limit, at)
  local cell_before, phase_before = position(limit, at - 1)
  return (cell == cell_before and phase == phase_before) and at - 1 or at
end

local function decide_uneven(limit, tat, cost)
  local burst, delay, span = limit[4], limit[5], limit[6]
  local foreign = tat > now + span + delay + SKEW + 2
  local full_at = (not foreign and tat > now) and tat or now
  local used = units_between(limit, now, full_at)
  local left = used < burst and burst - used or 0
  local reset = used > 0 and full_at - now or 0
  if cost == 0 then
    return ALLOW, 0, left, reset
  elseif cost > burst then
    return NEVER, 0, left, reset
  end
  local wait = 0
  if used > burst - cost then
    local moment = behind(limit, full_at, burst - cost)
    wait = moment > now and moment - now or 0
  end
  if wait > delay then
    local passes_at = delay == 0 and earliest(limit, now + wait) or now + wait - delay
    return DENY, passes_at - now, left, reset
  elseif foreign then
    local empty = ahead(limit, now, burst)
    return ALLOW, 0, 0, empty - now, empty
  end
  local after = ahead(limit, full_at, cost)
  return ALLOW, wait, left > cost and left - cost or 0, after - now, after
end

local function bucket_kind(decide, span_at, take_back)
  return {
    load = function(limit, value, empty_since)
      local tat = tonumber(value) or 0
      -- After a lost failover the bucket counts as emptied at that moment.
      if empty_since and tat < empty_since + limit[span_at] then
        tat = empty_since + limit[span_at]
      end
      return { tat = tat }
    end,
    look = function(limit, state, cost)
      local code, wait, remaining, reset, after = decide(limit, state.tat, cost)
      state.after = after
      return code, wait, remaining, reset
    end,
    spend = function(_, state)
      state.tat = state.after
    end,
    give_back = function(limit, state, cost)
      state.tat = take_back(limit, state.tat, cost)
    end,
    write = function(key, state)
      if state.tat > now then
        call('SET', key, state.tat, 'PX', lifetime(state.tat))
      else
        call('DEL', key)
      end
    end,
  }
end

local even_bucket = bucket_kind(decide_even, 5, function(limit, tat, cost)
  return tat - cost * limit[2]
end)
local uneven_bucket = bucket_kind(decide_uneven, 6, behind)
