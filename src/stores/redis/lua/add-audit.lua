-- Adds an entry about one key to the audit log.
-- KEYS     1 audit
-- ARGV     1 audit note, 2 audit entries at most, 3 audit kept in ms
-- Returns  nothing

local time = redis.call('TIME')
-- Needs memory, so it comes first (change-key.lua).
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'keys', 1, 'note', ARGV[1])
redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', time[1] * 1000 - ARGV[3]))
