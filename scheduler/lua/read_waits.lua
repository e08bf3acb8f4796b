#!lua flags=no-writes,allow-oom
-- Read how long the jobs waited that ended in the last minutes.
-- KEYS[1] prefix
-- args: minutes
--   minutes: the current one included
-- returns {field of `waits:<minute>`, number, ...}; a field may occur once for each minute
-- include: store/base
local answer, minute = {}, math.floor(NOW / 60000000)
for before = 0, tonumber(args.minutes) - 1 do
  for _, item in ipairs(redis.call('HGETALL', P .. 'waits:' .. text(minute - before))) do
    answer[#answer + 1] = item
  end
end
return answer
