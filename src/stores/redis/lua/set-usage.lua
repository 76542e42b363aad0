-- Sets what was spent of counters. What processes hold of them is counted on top, as it is theirs to spend or to give back.
-- KEYS     as in leased.lua
-- ARGV     2 units spent, then for each counter: first and last + 1 millisecond of its period, kept until
-- Returns  "used leased used leased …", not_current

-- endOfTime of ledger.ts
local MAX_WHOLE = 9007199254740991

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
  redis.call('HSET', KEYS[index], 'used', string.format('%.0f', used))
  local kept_until = tonumber(ARGV[3 * index + 2])
  local left = redis.call('PTTL', KEYS[index])
  if kept_until ~= MAX_WHOLE and (left < 0 or left < kept_until - now) then
    redis.call('PEXPIREAT', KEYS[index], string.format('%.0f', kept_until))
  end
  usage[index] = pair(used, held[index])
end
return table.concat(usage, ' ')
