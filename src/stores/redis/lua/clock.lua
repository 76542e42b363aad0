-- The clock of the Redis that runs the script; scripts.ts puts it in front of those that need it.
-- KEYS     none
-- ARGV     none
-- Returns  nothing by itself

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

