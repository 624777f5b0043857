-- KEYS: the claim, which is also the name of its channel. ARGV: what it holds while it is ours.
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[1], 'released')
return 1
