-- Sets what was spent of counters. What processes hold of them is counted on top, as it is theirs to spend or to give back.
-- KEYS     as in leased.lua
-- ARGV     2 units spent, then for each counter: first and last + 1 millisecond of its period, kept until
-- Returns  "used leased used leased …", not_current

for at = 3, #ARGV, 3 do
  if now < tonumber(ARGV[at]) or now >= tonumber(ARGV[at + 1]) then
    return 'not_current'
  end
end
-- All are read before anything is written: one may be of a wrong type.
local held = {}
for index = 1, #KEYS do
  local _, leased = read(KEYS[index])
  held[index] = leased
end
local usage = {}
for index = 1, #KEYS do
  local used = math.min(ARGV[2] + held[index], MAX_WHOLE)
  redis.call('HSET', KEYS[index], 'used', whole(used))
  keep_until(KEYS[index], tonumber(ARGV[3 * index + 2]))
  usage[index] = pair(used, held[index])
end
return table.concat(usage, ' ')
