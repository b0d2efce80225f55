-- Cells of one length, as most rates have them. limit: kind, interval, burst, longest wait, span from full to empty.
-- Gives code, wait, remaining, reset and the tat after it.
local function decide_even(limit, tat, cost)
  local interval, burst, delay, span = limit[2], limit[3], limit[4], limit[5]
  local foreign = tat > now + span + delay + SKEW + 2
  local spent = (not foreign and tat > now) and tat - now or 0
  local used = floor((spent + interval - 1) / interval)
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

kinds[1] = bucket_kind(decide_even, 5, function(limit, tat, cost)
  return tat - cost * limit[2]
end)
