-- Undoes a draw, or burns its id when it has not run.
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
local leases = {}
for index = 3, #KEYS do
  local used = used_of(KEYS[index])
  after[index] = used and math.max(used - units, 0)
  leases[index] = tonumber(string.match(redis.call('HGET', KEYS[index], 'h:' .. ARGV[2]) or '', '^%d+'))
end
redis.call('HSET', latest[1] and KEYS[1] or KEYS[2], ARGV[1], '-')
count(after)
for index = 3, #KEYS do
  if leases[index] then
    tell_lease(KEYS[index], leases[index] - units)
  end
end
