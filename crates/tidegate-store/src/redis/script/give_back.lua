-- What is asked: for each charge its key, its limit, its cost, when it was spent, and the name of what it holds.
while cursor <= #plan do
  local key, limit, cost, spent_at, hold = plan[cursor], limits[plan[cursor + 1]], plan[cursor + 2], plan[cursor + 3], plan[cursor + 4]
  cursor = cursor + 5
  local kind = kinds[limit[1]]
  local state = state_of(key, limit, false)
  kind.give_back(limit, state, cost, spent_at, hold)
  if key <= strings + 1 then
    dirty[key] = kind
  else
    -- Read anew if it is asked for again.
    kind.write(KEYS[key], state)
    states[key] = nil
  end
end
write_all()
return {}
