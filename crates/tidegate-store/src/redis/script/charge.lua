-- What is asked: requests, one after the other: how many charges, the name of what it holds; for each charge its key, its limit, its cost
-- and its mode (1: a refusal is only told; 2: careful after a failover; 3: both). All charges of a request are spent, or none.
-- The answer: the store's time; for each charge a code, the wait in microseconds, what remains, and the microseconds until fresh.
local answer = { now }
local at = 2
local asked = #plan

-- Decides on the charges from `cursor` on, each as if those before it were spent. False if one refuses the request.
local function decide(count, hold)
  local passes = true
  for _ = 1, count do
    local key, limit, cost, mode = plan[cursor], limits[plan[cursor + 1]], plan[cursor + 2], plan[cursor + 3]
    cursor = cursor + 4
    local kind = kinds[limit[1]]
    local state = state_of(key, limit, mode >= 2)
    local code, wait, remaining, reset = kind.look(limit, state, cost)
    answer[at], answer[at + 1], answer[at + 2], answer[at + 3] = code, wait, remaining, reset
    at = at + 4
    if code == ALLOW then
      if cost > 0 then
        kind.spend(limit, state, cost, hold)
        dirty[key] = kind
      end
    elseif mode % 2 == 0 or code == LOST then
      passes = false
    end
  end
  return passes
end

-- A copy of what the charges from `cursor` on may change.
local function snapshot(count)
  local copies = {}
  for charge = 0, count - 1 do
    local key, limit, mode = plan[cursor + charge * 4], limits[plan[cursor + charge * 4 + 1]], plan[cursor + charge * 4 + 3]
    local copy = { dirty = dirty[key] }
    for field, value in pairs(state_of(key, limit, mode >= 2)) do
      copy[field] = value
    end
    copy.taken = copy.taken and { unpack(copy.taken) }
    copies[key] = copies[key] or copy
  end
  return copies
end

while cursor <= asked do
  local count, hold = plan[cursor], plan[cursor + 1]
  cursor = cursor + 2
  if count == 1 then
    decide(1, hold)
  else
    local first_charge, first_answer, before = cursor, at, snapshot(count)
    if not decide(count, hold) then
      for key, copy in pairs(before) do
        dirty[key], copy.dirty = copy.dirty, nil
        states[key] = copy
      end
      -- Nothing is spent: the answers keep their codes, and tell what is left.
      for charge = 0, count - 1 do
        local place = first_charge + charge * 4
        local limit, state = limits[plan[place + 1]], states[plan[place]]
        local _, _, remaining, reset = kinds[limit[1]].look(limit, state, 0)
        answer[first_answer + charge * 4 + 2], answer[first_answer + charge * 4 + 3] = remaining, reset
      end
    end
  end
end
write_all()
return answer
