-- Writes one key, its place in the list, its secrets, an entry of the audit log and one of the change feed.
-- A secret that the key no longer has stays reserved for it: importing an old file must not make it work again.
-- KEYS     1 record, 2 ids, 3 audit, 4 changes, then the secrets it has
-- ARGV     1 version it was made from ('' = new), 2 id, 3 record with its version in front, 4 audit note,
--          5 audit entries at most, 6 audit kept in ms, 7 feed entries at most, 8 channel
-- Returns  done, exists, missing, outdated, taken

local held = redis.call('GET', KEYS[1])
if ARGV[1] == '' then
  if held then return 'exists' end
elseif not held then
  return 'missing'
elseif string.match(held, '^%d+') ~= ARGV[1] then
  return 'outdated'
end
for at = 5, #KEYS do
  local owner = redis.call('GET', KEYS[at])
  if owner and owner ~= ARGV[2] then return 'taken' end
end
-- Finds out what has a wrong type, and what our user may not do, before anything is changed: each command that is needed has no
-- effect here. The message leaves when the script is over. XTRIM needs no memory, and after it Redis refuses nothing for lack of it.
redis.call('XLEN', KEYS[4])
local time = redis.call('TIME')
redis.call('PUBLISH', ARGV[8], '')
redis.call('ZADD', KEYS[2], 'XX', 0, ARGV[2])
redis.call('SET', KEYS[1], held or '', 'XX')
redis.call('XTRIM', KEYS[3], 'MINID', '~', string.format('%.0f', time[1] * 1000 - ARGV[6]))

redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'keys', 1, 'note', ARGV[4])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[7], '*', 'key', ARGV[1] == '' and '' or ARGV[2])
redis.call('SET', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], 0, ARGV[2])
for at = 5, #KEYS do
  redis.call('SET', KEYS[at], ARGV[2])
end
return 'done'
