-- KEYS: the hash. ARGV: a JSON list of the field, what it has to hold (null: whatever it does), and what it shall hold. An empty text
-- is no field. Done twice it is the same as once.
local field, before, after = unpack(cjson.decode(ARGV[1]))
local now = redis.call('HGET', KEYS[1], field) or ''
if now == after then
  return { 1 }
end
if before ~= cjson.null and now ~= before then
  return { 0 }
end
if after == '' then
  redis.call('HDEL', KEYS[1], field)
else
  redis.call('HSET', KEYS[1], field, after)
end
return { 1 }
