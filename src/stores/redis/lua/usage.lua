-- Reads counters and what processes have said lately that they hold of them. Other fields are skipped.
-- KEYS     one counter each
-- ARGV     1 for how many ms what a process has said is believed
-- Returns  "used leased used leased …"; as text, because the client's parser is not exact near 2^53

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local usage = {}
for index = 1, #KEYS do
  local used = 0
  local leased = 0
  local fields = redis.call('HGETALL', KEYS[index])
  for at = 1, #fields, 2 do
    if fields[at] == 'used' then
      used = tonumber(fields[at + 1])
      if not used or not (used >= 0 and used <= 9007199254740991) then
        error('WRONGVALUE')
      end
    else
      local units, told = string.match(fields[at + 1], '^(%d+) (%d+)$')
      if units and now - told < tonumber(ARGV[1]) then
        leased = leased + units
      end
    end
  end
  usage[#usage + 1] = string.format('%.0f', used)
  usage[#usage + 1] = string.format('%.0f', math.min(leased, used))
end
return table.concat(usage, ' ')
