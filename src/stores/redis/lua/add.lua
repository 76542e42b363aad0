-- Adds units to every counter whatever the limits say, or gives them back to those counters that exist.
-- KEYS     as in step.lua
-- ARGV     4 units, negative to give back, then for each counter: held, kept until
-- Returns  nothing

local units = tonumber(ARGV[4])
-- Units given back twice would be overspent, and those charged twice would be lost to the key.
if earlier or forgotten then
  return
end

local after = {}
local held = {}
for index = 3, #KEYS do
  local used = used_of(KEYS[index])
  if used or units > 0 then
    after[index] = math.min(math.max((used or 0) + units, 0), MAX_WHOLE)
    held[index] = tonumber(ARGV[index * 2 - 1])
  end
end

remember('0')
count(after, held)
for index = 3, #KEYS do
  keep_until(KEYS[index], tonumber(ARGV[index * 2]))
end
