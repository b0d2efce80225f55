-- What a limit of `capacity` says to `cost` when `used` is spent. `room_at`: from when it fits, `fresh_at`: from when nothing counts,
-- `fresh_if_spent`: the same if something is spent now.
local function judge(capacity, used, cost, room_at, fresh_at, fresh_if_spent)
  local left = used < capacity and capacity - used or 0
  if cost > 0 and cost <= left then
    return ALLOW, 0, left - cost, fresh_if_spent - now
  end
  local reset = fresh_at > now and fresh_at - now or 0
  if cost == 0 then
    return ALLOW, 0, left, reset
  elseif cost > capacity then
    return NEVER, 0, left, reset
  end
  return DENY, room_at - now, left, reset
end

-- The key's clock: it never goes back.
local function clock_of(last)
  return last > now and last or now
end

-- Until when a counter whose spendings may be lost counts as used up; nil if it does not. limit: kind, capacity, how long a unit counts.
local function closed_until(limit, empty_since)
  local moment = empty_since and empty_since + limit[3]
  return moment and moment > now and moment or nil
end
