-- Does what every count needs, to find out whether a script may do so: it asks for the time and writes.
-- KEYS     1 what is written
-- ARGV     1 how long it is kept, in ms
-- Returns  nothing

redis.call('TIME')
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
