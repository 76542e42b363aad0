-- Runs one script for all who called it, once for each; scripts.ts puts the script in front, as `run`.
-- KEYS     those of all callers, one after another
-- ARGV     for each caller: how many keys it has, how many arguments, and the arguments
-- Returns  for each caller its answer or its error

local answers = {}
local key = 0
local word = 1
while word < #ARGV do
  local keys, words = {}, {}
  local last = word + 1 + tonumber(ARGV[word + 1])
  for at = 1, tonumber(ARGV[word]) do
    keys[at] = KEYS[key + at]
  end
  for at = word + 2, last do
    words[at - word - 1] = ARGV[at]
  end
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
  if answer == nil then
    answer = false
  end
  answers[#answers + 1] = answer
  key = key + #keys
  word = last + 1
end
return answers
