-- KEYS: recency, sizes, bytes. ARGV: prefix of the keys that hold bodies, name. Gives 1 if it was there.
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('DECRBY', KEYS[3], tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or 0))
redis.call('HDEL', KEYS[2], ARGV[2])
return redis.call('UNLINK', ARGV[1] .. ARGV[2])
