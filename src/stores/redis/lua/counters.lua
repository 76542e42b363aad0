-- What all scripts of counters share; scripts.ts puts it in front of them.
-- KEYS     none
-- ARGV     none
-- Returns  nothing by itself

-- endOfTime of ledger.ts
local MAX_WHOLE = 9007199254740991

-- Lua writes 1e+15 where Redis needs every digit.
local function whole(number)
  return string.format('%.0f', number)
end

-- What is not a count of units is refused like a wrong type: taken for zero, it would restart the quota.
local function units_in(text)
  local units = tonumber(text)
  if not units or not (units >= 0 and units <= MAX_WHOLE) then
    error('WRONGVALUE')
  end
  return units
end

-- A counter lives as long as the longest period that was counted in it. Read first, because mostly it lives that long already.
local function keep_until(key, time)
  if time == MAX_WHOLE then
    return
  end
  local left = redis.call('PTTL', key)
  if left < 0 or left < time - now then
    redis.call('PEXPIREAT', key, whole(time))
  end
end
