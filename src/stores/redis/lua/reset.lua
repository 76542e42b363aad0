-- Sets counters to zero; what processes say they hold of them stays.
-- KEYS     one counter each
-- ARGV     none
-- Returns  nothing

-- Everything that may have a wrong type is read before anything is written.
for index = 1, #KEYS do
  redis.call('HLEN', KEYS[index])
end
for index = 1, #KEYS do
  if redis.call('EXISTS', KEYS[index]) == 1 then
    redis.call('HSET', KEYS[index], 'used', '0')
  end
end
