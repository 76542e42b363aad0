-- Reads the key that has a secret.
-- KEYS     1 the secret
-- ARGV     1 what the names of records begin with; all have the hash tag of the secret, so they live where it does
-- Returns  its id, then its record with its version in front; nothing when no key has the secret

local id = redis.call('GET', KEYS[1])
local record = id and redis.call('GET', ARGV[1] .. id)
if not record then return {} end
return { id, record }
