-- Token and leaky bucket: the state is the moment at which the bucket will be full (tat).

local function bucket_kind(decide, span_at, take_back)
  return {
    load = function(limit, value, empty_since)
      local tat, lives_until = 0, 0
      if value and #value == 12 then
        tat, lives_until = unpack_struct('<dI4', value)
      end
      -- After a lost failover the bucket counts as emptied at that moment.
      if empty_since and tat < empty_since + limit[span_at] then
        tat = empty_since + limit[span_at]
      end
      return { tat = tat, lives_until = lives_until }
    end,
    look = function(limit, state, cost)
      local code, wait, remaining, reset, after = decide(limit, state.tat, cost)
      state.after = after
      return code, wait, remaining, reset
    end,
    spend = function(_, state)
      state.tat = state.after
    end,
    give_back = function(limit, state, cost, spent_at)
      -- What has flowed in since may have been lent to others already: so much is kept.
      local owed = state.tat - take_back(limit, state.tat, cost) - (now - spent_at)
      state.tat = owed > 0 and state.tat - owed or state.tat
    end,
    write = function(key, state)
      if state.tat > now then
        save(key, pack('<d', state.tat), state.tat, state.lives_until)
      else
        call('DEL', key)
      end
    end,
  }
end
