-- GCRA. ARGV: microseconds per unit, microseconds of burst, microseconds that this request costs.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tat = tonumber(redis.call('GET', KEYS[1])) or now
if tat < now then
  tat = now
end
local next = tat + tonumber(ARGV[3])
if next - tonumber(ARGV[2]) > now then
  return { 0, next - tonumber(ARGV[2]) - now }
end
redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000) + 1)
return { 1, 0 }
