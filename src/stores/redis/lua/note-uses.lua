-- Notes when secrets were last used. Each gateway writes its own uses a while later, so an older one may come after a newer.
-- KEYS     1 uses
-- ARGV     for each use: its field, its time
-- Returns  nothing

for at = 1, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[at]))
  if not known or known < tonumber(ARGV[at + 1]) then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  end
end
