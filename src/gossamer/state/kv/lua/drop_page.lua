-- KEYS: recency, sizes, bytes, editions, fence (the newest edition of this page that was dropped).
-- ARGV: prefix of the keys that hold bodies, name, edition (0: any), milliseconds for which the fence stands.
-- Gives 1 if it was there and was dropped; an edition that is newer stays.
local recency, sizes, total, editions, fence = unpack(KEYS)
local prefix, name, edition = ARGV[1], ARGV[2], tonumber(ARGV[3])

if edition > 0 then
  if tonumber(redis.call('GET', fence) or 0) <= edition then
    redis.call('SET', fence, ARGV[3], 'PX', ARGV[4])
  end
  if tonumber(redis.call('HGET', editions, name) or 0) > edition then return 0 end
end
redis.call('ZREM', recency, name)
redis.call('DECRBY', total, tonumber(redis.call('HGET', sizes, name) or 0))
redis.call('HDEL', sizes, name)
redis.call('HDEL', editions, name)
return redis.call('UNLINK', prefix .. name)
