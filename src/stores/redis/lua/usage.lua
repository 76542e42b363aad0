-- Reads counters and what processes hold of them.
-- KEYS     as in leased.lua
-- ARGV     as in leased.lua
-- Returns  "used leased used leased …"

local usage = {}
for index = 1, #KEYS do
  local text, leased = read(KEYS[index])
  local used = text and units_in(text) or 0
  usage[index] = pair(used, math.min(leased, used))
end
return table.concat(usage, ' ')
