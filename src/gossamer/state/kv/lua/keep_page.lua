-- Keep a page, then let the least recently used ones go until count and bytes are within bounds.
-- KEYS: recency (sorted set of names by the tick of their last use), sizes (hash), bytes (their sum), tick,
-- editions (hash), fence (the newest edition of this page that was dropped).
-- ARGV: prefix of the keys that hold bodies, name, body, most pages, most bytes, edition (0: none).
-- Gives 1 if it was kept, 0 if an edition that is newer is there, or one as new was dropped.
local recency, sizes, total, tick, editions, fence = unpack(KEYS)
local prefix, name, body = ARGV[1], ARGV[2], ARGV[3]
local most_pages, most_bytes, edition = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

if edition > 0 then
  if tonumber(redis.call('GET', fence) or 0) >= edition then return 0 end
  if tonumber(redis.call('HGET', editions, name) or 0) > edition then return 0 end
  redis.call('HSET', editions, name, ARGV[6])
end
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
  redis.call('HDEL', editions, oldest)
  redis.call('UNLINK', prefix .. oldest)
  pages = pages - 1
end
return 1
