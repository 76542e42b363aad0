-- Reads the clock of the Redis that has a key.
-- KEYS     1 any name of the key
-- ARGV     none
-- Returns  milliseconds since the epoch

local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
