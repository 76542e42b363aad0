-- Reads what came after a place in the change feed.
-- KEYS     1 changes, 2 ids
-- ARGV     1 the place, '' = only tell where the feed ends, '0-0' = it was empty; 2 how many at most; 3 how many are kept
-- Returns  the new place, then each changed key ('' = keys were added); or the end of the feed, preceded by '?', when the place
--          is not in the feed any more. Then, unless the feed was only cut, the last entry before the place, '0-0' = none

local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local ends = newest and newest[1] or '0-0'
-- Every key was told of when it was made: where there are keys an empty feed was emptied. It may have been filled and emptied
-- once more since the last reading, or be before the next, and nothing in it would show that: so it ends where no entry can be.
if not newest and redis.call('EXISTS', KEYS[2]) == 1 then ends = '0-1' end
if ARGV[1] == '' then return { ends } end

-- A feed that was cut is as long as it may be, and begins after the place. Any other has lost the place, or never had it.
local function missed()
  local before = redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', 1)[1]
  local was_cut = not before and redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[3])
  local was_empty = string.sub(ARGV[1], 1, 2) == '0-'
  if was_cut or was_empty then return { '?' .. ends } end
  return { '?' .. ends, before and before[1] or '0-0' }
end

if ends == '0-1' then return missed() end
local first = ARGV[1] == '0-0' and 1 or 2
-- It may have been cut since it was empty, and nothing in it would show that.
if first == 1 and redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[3]) then return missed() end
local entries = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2] + first - 1)
if first == 2 then
  -- The entry of the place itself must still be there.
  if not entries[1] or entries[1][1] ~= ARGV[1] then return missed() end
end
local answer = { ARGV[1] }
for at = first, #entries do
  answer[1] = entries[at][1]
  answer[#answer + 1] = entries[at][2][2]
end
return answer
