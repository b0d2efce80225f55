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
