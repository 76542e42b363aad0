-- Reads the key that has a secret. Not for a cluster: the record is not among KEYS, and its slot may be moving.
-- KEYS     1 the secret
-- ARGV     1 what the names of records begin with
-- Returns  its id, its version and its record, with spaces between; nothing when no key has the secret

local id = redis.call('GET', KEYS[1])
local record = id and redis.call('GET', ARGV[1] .. id)
return record and id .. ' ' .. record
