-- Adds many new keys with one secret each, and one entry in the audit log. Keys that exist already stay as they are.
-- KEYS     1 ids, 2 audit, 3 changes, then for each key: its record, its secret
-- ARGV     1 audit note, 2 audit entries at most, 3 audit kept in ms, 4 feed entries at most, 5 channel,
--          then for each key: its id, its record with its version in front
-- Returns  for each key: '+' added, '=' and the id of the key that has the secret, '?' the same where its record is gone,
--          '!' the id is taken

local time = redis.call('TIME')
local kept_from = string.format('%.0f', time[1] * 1000 - ARGV[3])
local answers = {}
local added = 0
for number = 1, (#KEYS - 3) / 2 do
  local record, secret = KEYS[2 + 2 * number], KEYS[3 + 2 * number]
  local id, text = ARGV[4 + 2 * number], ARGV[5 + 2 * number]
  local owner = redis.call('GET', secret)
  if owner then
    local held = redis.call('EXISTS', string.sub(record, 1, #record - #id) .. owner)
    answers[number] = (held == 1 and '=' or '?') .. owner
  elseif redis.call('EXISTS', record) == 1 then
    answers[number] = '!'
  else
    if added == 0 then
      -- Finds out what has a wrong type, and what our user may not do, before anything is changed (change-key.lua).
      redis.call('XLEN', KEYS[3])
      for at = 5 + 2 * number, #KEYS, 2 do
        redis.call('GET', KEYS[at])
      end
      redis.call('PUBLISH', ARGV[5], '')
      redis.call('ZADD', KEYS[1], 'XX', 0, id)
      redis.call('XADD', record, 'NOMKSTREAM', '*', 'key', '')
      redis.call('XTRIM', KEYS[2], 'MINID', '~', kept_from)
    end
    redis.call('SET', record, text)
    redis.call('SET', secret, id)
    redis.call('ZADD', KEYS[1], 0, id)
    answers[number] = '+'
    added = added + 1
  end
end
if added > 0 then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'keys', added, 'note', ARGV[1])
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[4], '*', 'key', '')
end
return answers
