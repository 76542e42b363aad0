-- Takes the same number of units from every counter, or nothing from any.
-- KEYS     as in step.lua
-- ARGV     4 need, 5 want, 6 held besides, then for each counter: limit, first and last + 1 millisecond of its period, kept until
-- Returns  "1 now units used…" drawn, "2 now used…" exhausted, "3 now" not current, "-" the id is burnt

if earlier then
  return earlier
end
-- Nobody waits for it any more, and it may have been cancelled.
if forgotten then
  return '-'
end

for at = 7, #ARGV, 4 do
  if now < tonumber(ARGV[at + 1]) or now >= tonumber(ARGV[at + 2]) then
    return '3 ' .. whole(now)
  end
end

local need = tonumber(ARGV[4])
local units = tonumber(ARGV[5])
local enough = true
local used = {}
for index = 3, #KEYS do
  local spent = used_of(KEYS[index]) or 0
  local left = math.max(tonumber(ARGV[index * 4 - 5]) - spent, 0)
  if left < need then
    enough = false
  end
  units = math.min(units, left)
  used[index - 2] = spent
end

if not enough then
  for index = 3, #KEYS do
    -- The period may have been made longer since units were last taken, and they count in all of it.
    keep_until(KEYS[index], tonumber(ARGV[index * 4 - 2]))
    used[index - 2] = whole(used[index - 2])
  end
  return '2 ' .. whole(now) .. ' ' .. table.concat(used, ' ')
end

local after = {}
local held = {}
for index = 3, #KEYS do
  after[index] = used[index - 2] + units
  used[index - 2] = whole(after[index])
  held[index] = tonumber(ARGV[6]) + units
end
local answer = '1 ' .. whole(now) .. ' ' .. whole(units) .. ' ' .. table.concat(used, ' ')
remember(answer)
count(after, held)
for index = 3, #KEYS do
  keep_until(KEYS[index], tonumber(ARGV[index * 4 - 2]))
end
return answer
