-- Keep a page, then let the least recently used ones go until count and bytes are within bounds.
-- KEYS: recency (sorted set of names by the tick of their last use), sizes (hash), bytes (their sum), tick.
-- ARGV: prefix of the keys that hold bodies, name, body, most pages, most bytes.
local recency, sizes, total, tick = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local prefix, name, body = ARGV[1], ARGV[2], ARGV[3]
local most_pages, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])

local before = tonumber(redis.call('HGET', sizes, name) or 0)
redis.call('SET', prefix .. name, body)
redis.call('HSET', sizes, name, #body)
redis.call('ZADD', recency, redis.call('INCR', tick), name)
local bytes = redis.call('INCRBY', total, #body - before)
local pages = redis.call('ZCARD', recency)

while pages > most_pages or bytes > most_bytes do
  local oldest = redis.call('ZPOPMIN', recency)[1]
  if not oldest then break end
  bytes = redis.call('DECRBY', total, tonumber(redis.call('HGET', sizes, oldest) or 0))
  redis.call('HDEL', sizes, oldest)
  redis.call('UNLINK', prefix .. oldest)
  pages = pages - 1
end
