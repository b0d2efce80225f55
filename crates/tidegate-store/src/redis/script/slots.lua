-- Concurrency: the state is a sorted set with a member for each unit in use: the name of the request that holds it and a number, by the
-- moment it was taken. limit: kind, slots, time to live.
kinds[7] = {
  load = function(limit, _, empty_since, key)
    local state = { key = key, last = 0, taken = {} }
    local latest = call('ZRANGE', key, -1, -1, 'WITHSCORES')
    state.last = tonumber(latest[2]) or 0
    if state.last > now + BACKSTEP then
      call('DEL', key)
      state.last = 0
    end
    state.blocked_until = closed_until(limit, empty_since)
    state.clock = clock_of(state.last)
    return state
  end,
  look = function(limit, state, cost)
    local capacity, ttl = limit[2], limit[3]
    if state.ttl ~= ttl then
      state.ttl, state.live = ttl, call('ZCOUNT', state.key, '(' .. string.format('%.0f', state.clock - ttl), '+inf')
    end
    if state.blocked_until then
      return judge(capacity, capacity, cost, state.blocked_until, state.blocked_until, 0)
    end
    local used = state.live + #state.taken
    local last = #state.taken > 0 and state.clock or state.last
    local room_at, excess = 0, used + cost - capacity
    if cost > 0 and excess > 0 and cost <= capacity then
      room_at = state.clock + ttl
      if excess <= state.live then
        local rank = call('ZCARD', state.key) - state.live + excess - 1
        room_at = call('ZRANGE', state.key, rank, rank, 'WITHSCORES')[2] + ttl
      end
    end
    return judge(capacity, used, cost, room_at, used > 0 and last + ttl or 0, state.clock + ttl)
  end,
  spend = function(limit, state, cost, hold)
    local number = 0
    for _, member in ipairs(state.taken) do
      if string.sub(member, 1, #hold) == hold then
        number = number + 1
      end
    end
    for unit = number, number + cost - 1 do
      state.taken[#state.taken + 1] = hold .. string.format('%d', unit)
    end
    state.spender = limit[3]
  end,
  give_back = function(_, state, _, _, hold)
    state.given_back = hold
  end,
  write = function(key, state)
    if state.given_back then
      local unit = 0
      while call('ZREM', key, state.given_back .. string.format('%d', unit)) == 1 do
        unit = unit + 1
      end
      return
    end
    call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', state.clock - state.spender))
    for _, member in ipairs(state.taken) do
      call('ZADD', key, string.format('%.0f', state.clock), member)
    end
    call('PEXPIRE', key, lifetime(state.clock + state.spender))
  end,
}
