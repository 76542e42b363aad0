-- What the scripts that tell usage share; scripts.ts puts it in front of them, behind counters.lua.
-- KEYS     one counter each, as step.lua keeps it
-- ARGV     1 for how many ms what a process has said is believed, then what the script says
-- Returns  nothing by itself

-- Reads a counter: what stands there as used, and what processes have said lately that they hold. Other fields are skipped.
local function read(key)
  local used
  local leased = 0
  local fields = redis.call('HGETALL', key)
  for at = 1, #fields, 2 do
    if fields[at] == 'used' then
      used = fields[at + 1]
    else
      local units, told = string.match(fields[at + 1], '^(%d+) (%d+)$')
      if units and now - told < tonumber(ARGV[1]) then
        leased = leased + units
      end
    end
  end
  return used, leased
end

-- As text, because the client's parser is not exact near 2^53.
local function pair(used, leased)
  return whole(used) .. ' ' .. whole(leased)
end
