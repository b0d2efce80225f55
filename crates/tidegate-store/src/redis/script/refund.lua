-- What is asked: for each charge its key, its limit and its cost, of which nothing is known but that it was spent some time ago. So much of
-- what its counter holds is given back, the latest first, and keys live no longer than before.

-- How each kind does it. True if the state has changed and is to be written.
local refunds = {
  function(limit, state, cost)
    local found = state.tat
    -- In the past it is full.
    state.tat = found - cost * limit[2]
    return found > now
  end,
  function(limit, state, cost)
    local found = state.tat
    state.tat = behind(limit, found, cost)
    return found > now
  end,
  function(_, state, cost)
    local found = state.used
    state.used, state.fresh_at = found > cost and found - cost or 0, 0
    return found > 0
  end,
  [5] = function(_, state, cost)
    local current, previous = state.current, state.previous
    local rest = cost > current and cost - current or 0
    state.current = current > cost and current - cost or 0
    state.previous, state.fresh_at = previous > rest and previous - rest or 0, 0
    return current + previous > 0
  end,
  [6] = function(limit, state, cost)
    local used = count_log(limit, state)
    if cost >= used then
      state.rewritten_from, state.rewritten = 0, ''
      return true
    end
    -- The record that reaches what is left becomes the last.
    local left = state.total - cost
    local last = first_record(state, state.key, function(_, total)
      return total >= left
    end)
    local moment = record(state, state.key, last)
    state.rewritten_from, state.rewritten = last, pack('<dd', moment, left)
    return true
  end,
  -- Those that were taken first.
  [7] = function(limit, state, cost)
    call('ZREMRANGEBYSCORE', state.key, '-inf', string.format('%.0f', state.clock - limit[3]))
    call('ZREMRANGEBYRANK', state.key, '0', string.format('%.0f', cost - 1))
    return false
  end,
}
refunds[4] = refunds[3]

while cursor <= #plan do
  local key, limit, cost = plan[cursor], limits[plan[cursor + 1]], plan[cursor + 2]
  cursor = cursor + 3
  local number = limit[1]
  local state = state_of(key, limit, false)
  local changed = refunds[number](limit, state, cost)
  if key > strings + 1 then
    if changed then
      kinds[number].write(KEYS[key], state)
    end
    -- Read anew if it is asked for again.
    states[key] = nil
  elseif changed then
    dirty[key] = kinds[number]
  end
end
write_all()
return {}
