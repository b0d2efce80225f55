-- KEYS: the sorted set of a concurrency limit. ARGV: the name of the request whose slots are given back.
local unit = 0
while redis.call('ZREM', KEYS[1], ARGV[1] .. string.format('%d', unit)) == 1 do
  unit = unit + 1
end
return { unit }
