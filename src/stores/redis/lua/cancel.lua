-- Undoes a draw, or burns its id if it has not run.
-- KEYS     as in step.lua
-- ARGV     as in step.lua
-- Returns  nothing

if not earlier then
  remember('-')
  return
end

local units = tonumber(string.match(earlier, '^1 %d+ (%d+)'))
if not units then
  return
end

local after = {}
local held = {}
for index = 3, #KEYS do
  local used = used_of(KEYS[index])
  local told = tonumber(string.match(redis.call('HGET', KEYS[index], 'h:' .. ARGV[2]) or '', '^%d+'))
  after[index] = used and math.max(used - units, 0)
  held[index] = told and told - units
end
redis.call('HSET', latest[1] and KEYS[1] or KEYS[2], ARGV[1], '-')
count(after, held)
