-- KEYS: the hash. ARGV: where to go on.
return redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 512)
