-- KEYS: the claim, which is also the name of its channel. ARGV: what it holds while it is ours, what it shall
-- hold now that the work is done, milliseconds. Gives 1, or 0 when it is not ours.
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('PUBLISH', KEYS[1], 'settled')
return 1
