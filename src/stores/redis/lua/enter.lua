-- Takes a place unless all are taken by others.
-- KEYS     1 the places of a key, by the moment at which each expires
-- ARGV     1 the place, 2 limit, 3 expires in ms, 0 = it is not taken, 4 the longest that any place is taken for
-- Returns  1 entered, 0 full

local latest = now + ARGV[4]
local taken = redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', now), string.format('%.0f', latest))
local own = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if own and own > now and own <= latest then
  taken = taken - 1
end
if taken >= tonumber(ARGV[2]) then
  return 0
end
-- Before anything is removed: a server out of memory refuses the first write of a script, and none after it.
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', latest), '+inf')
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
