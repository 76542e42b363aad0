-- What the scripts that take a step of a key share; scripts.ts puts it in front of them, behind counters.lua.
-- KEYS     1 the holder's latest steps, 2 its earlier steps, 3 and on: one counter each
-- ARGV     1 the step's id, 2 the holder, 3 the lowest number of its steps that may still come again, then what the script says
-- Returns  nothing by itself
--
-- A counter is a hash: `used`, and for each process `h:<holder>` = "<units it holds> <when it told>".
-- Steps are a hash of id to answer. Answers: "1 …" a draw, "0" another step, "-" a burnt id. The numbers of ids go up: `top` is the
-- highest so far, `floor` the highest that may be forgotten. The hash is rotated, and what was rotated before is forgotten: only when
-- none of that may come again, as the holder tells with each step; when nothing follows, after an hour.

local STEPS_KEPT_MS = 3600000
-- Renewing this with each step would take two more commands. Without them, and with a counter and its holder in one command, a
-- draw takes Redis 13.3 µs instead of 15.2.
local STEPS_RENEWED_MS = 900000
-- Rotating takes seven commands more: a busy key does it every ten seconds, a quiet one with every sixteenth step.
local STEPS_MIN_MS = 10000
local STEPS_MIN = 16
-- begun, top and floor
local STEPS_HEAD = 3
local HOLDERS_MAX = 64
-- leaseToldMs of retention.ts
local LEASE_TOLD_MS = 3600000

local latest = redis.call('HMGET', KEYS[1], ARGV[1], 'begun', 'top', 'floor')
local earlier = latest[1] or redis.call('HGET', KEYS[2], ARGV[1])
local nth = tonumber(string.match(ARGV[1], '%d+$'))
-- It took so long to arrive that another copy of it may have been taken before, and forgotten.
local forgotten = nth <= tonumber(latest[4] or 0)

local function used_of(key)
  local text = redis.call('HGET', key, 'used')
  return text and units_in(text)
end

-- Comes before the units are counted, and ends with the same command that counts them. So if our user may not run one, a step is
-- either counted and remembered or neither, and trying it again never counts it again.
local function remember(answer)
  local top = tonumber(latest[3] or 0)
  local age = latest[2] and math.abs(now - latest[2])
  local floor = not age and '0'
  local rotates = false
  if age and age > STEPS_MIN_MS and redis.call('HLEN', KEYS[1]) - STEPS_HEAD >= STEPS_MIN then
    local forgets = redis.call('HGET', KEYS[2], 'top') or latest[4]
    rotates = tonumber(forgets) < tonumber(ARGV[3])
    floor = rotates and forgets
  end
  local renews = not age or rotates or age > STEPS_RENEWED_MS
  if age and renews then
    -- Changes nothing, but needs memory: after a write that needs none Redis refuses no other for lack of it.
    redis.call('HSET', KEYS[1], 'top', latest[3] or '0')
  end
  if rotates then
    redis.call('UNLINK', KEYS[2])
    redis.call('RENAME', KEYS[1], KEYS[2])
  end
  if floor then
    redis.call('HSET', KEYS[1], 'begun', whole(now), 'floor', floor)
  end
  if renews then
    redis.call('PEXPIRE', KEYS[1], STEPS_KEPT_MS + STEPS_RENEWED_MS)
  end
  redis.call('HSET', KEYS[1], 'top', whole(math.max(nth, top)), ARGV[1], answer)
end

-- Processes that died without giving back leave what they told. It is cleared once many have told.
local function forget_the_dead(key)
  local fields = redis.call('HGETALL', key)
  for at = 1, #fields, 2 do
    local told = string.match(fields[at + 1], ' (%d+)$')
    if told and now - told > LEASE_TOLD_MS then
      redis.call('HDEL', key, fields[at])
    end
  end
end

-- Comes right after the step is remembered. `after` has the units of each counter that changes, by the number of its key, and
-- `held` what the holder has of it from now on, if it tells. All is counted before anything is cleared away.
local function count(after, held)
  local holder = 'h:' .. ARGV[2]
  local added = {}
  for index = 3, #KEYS do
    if after[index] and (held[index] or 0) > 0 then
      local told = whole(held[index]) .. ' ' .. whole(now)
      added[index] = redis.call('HSET', KEYS[index], 'used', whole(after[index]), holder, told)
    elseif after[index] then
      redis.call('HSET', KEYS[index], 'used', whole(after[index]))
    end
  end
  for index = 3, #KEYS do
    if held[index] and held[index] <= 0 then
      redis.call('HDEL', KEYS[index], holder)
    elseif added[index] == 1 and redis.call('HLEN', KEYS[index]) > HOLDERS_MAX then
      forget_the_dead(KEYS[index])
    end
  end
end
