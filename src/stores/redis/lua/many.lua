-- Runs one script for all who called it, once for each; scripts.ts puts the script in front, as `run`.
-- KEYS     those of all callers, one after another
-- ARGV     for each caller its arguments, then how many keys it has, in one text with spaces between: each word of a call costs the
--          client as much as it costs Redis to split them
-- Returns  for each caller its answer or its error

local answers = {}
local key = 0
for caller = 1, #ARGV do
  local keys, words = {}, {}
  for word in string.gmatch(ARGV[caller], '%S+') do
    words[#words + 1] = word
  end
  for at = 1, tonumber(table.remove(words)) do
    keys[at] = KEYS[key + at]
  end
  key = key + #keys
  local done, answer = pcall(run, keys, words)
  if not done then
    local why = type(answer) == 'table' and answer.err or tostring(answer)
    answer = { err = why }
    -- It is no longer a master, so nothing has been written. Only if the whole answer is an error does the client leave its
    -- connection (ioredis 6.0.0, reconnectOnError).
    if string.find(why, 'READONLY', 1, true) then
      return answer
    end
  end
  -- A nil would end the list.
  answers[caller] = answer or false
end
return answers
