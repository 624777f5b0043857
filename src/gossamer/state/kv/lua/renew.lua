-- KEYS: the claim. ARGV: what it holds while it is ours, milliseconds. Gives 1, or 0 when it is not ours.
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
