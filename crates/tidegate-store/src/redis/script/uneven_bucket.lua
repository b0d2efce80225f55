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

kinds[2] = bucket_kind(decide_uneven, 6, behind)
