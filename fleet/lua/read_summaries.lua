#!lua flags=no-writes,allow-oom
-- Read the main fields of all models at one instant, without their replicas: its cost does not grow with them.
-- KEYS[1] prefix
-- args: models..
-- returns {state or nil, code or nil, wanted or nil, lost or nil, crashed or nil, time of the restart (us) or nil,
--         loaded (us) or nil, limit of one request at the last load (tokens), '' or nil, number of waiting jobs, ...}
-- include: store/base
local answer = {}
for at = first.models, #ARGV do
  local fields = redis.call('HMGET', model_key(ARGV[at]), 'state', 'code', 'wanted', 'lost', 'crashed', 'restart_us',
    'loaded_us', 'context')
  for _, value in ipairs(fields) do answer[#answer + 1] = value end
  answer[#answer + 1] = redis.call('ZCARD', P .. 'waiting:' .. ARGV[at])
end
return answer
