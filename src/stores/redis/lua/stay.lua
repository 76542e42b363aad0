-- Keeps a place, and takes it again if it was lost: its request is in flight all the same.
-- KEYS     1 the places of a key, by the moment at which each expires
-- ARGV     1 the place, 2 expires in ms
-- Returns  nothing

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
