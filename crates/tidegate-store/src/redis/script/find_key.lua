-- KEYS: the entries of API keys, and the tiers that subjects have for a while. ARGV: the digest of a key.
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if not entry then
  return {}
end
local sound, read = pcall(cjson.decode, entry)
local subject = sound and type(read) == 'table' and read.subject
if type(subject) ~= 'string' then
  return { entry }
end
return { entry, redis.call('HGET', KEYS[2], subject) }
