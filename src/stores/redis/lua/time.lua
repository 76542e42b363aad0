-- Reads the clock of the Redis that has a key.
-- KEYS     1 any name of the key
-- ARGV     none
-- Returns  milliseconds since the epoch

return now
