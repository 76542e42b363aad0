-- Takes cells of a rate by GCRA. gcra.ts does the same computation, with the reasons.
-- KEYS     1 the rate's state: "<base> <cells> <interval>"
-- ARGV     1 interval in ms, may be a fraction, 2 burst, 3 want
-- Returns  {taken, remaining, ms until a cell is free, now}

local interval = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])

local base = now
local cells = 0
local state = redis.call('GET', KEYS[1])
if state then
  local old_base, old_cells, old_interval = string.match(state, '^(%S+) (%S+) (%S+)$')
  old_base, old_cells, old_interval = tonumber(old_base), tonumber(old_cells), tonumber(old_interval)
  if not (old_base and old_cells and old_interval) then
    error('WRONGTYPE')
  end
  local rested = old_base + old_cells * old_interval
  if rested > now and old_interval == interval then
    base = old_base
    cells = old_cells
  elseif rested > now then
    base = rested
  end
end

local cut = base + cells * interval > now + burst * interval
if cut then
  base = now
  cells = burst
end

local elapsed = now - base
local passed = math.floor(elapsed / interval)
if (passed + 1) * interval <= elapsed then
  passed = passed + 1
elseif passed * interval > elapsed then
  passed = passed - 1
end

local free = math.max(burst - cells + passed, 0)
local taken = math.min(tonumber(ARGV[3]), free)
local remaining = free - taken
cells = cells + taken
if cut or taken > 0 then
  local rest = math.max(math.ceil(base + cells * interval - now), 1)
  redis.call('SET', KEYS[1], string.format('%.17g %.0f %.17g', base, cells, interval), 'PX', string.format('%.0f', rest))
end

local retry = 0
if remaining == 0 then
  retry = math.ceil(math.ceil((cells - burst + 1) * interval) - elapsed)
end
return { taken, remaining, retry, now }
