#!lua flags=allow-oom
-- Record what the models wait for that requests wait for, and forget those that no request waits for any more.
-- KEYS[1] prefix
-- args: notes..
--   notes: pairs: model, what it waits for (JSON) or '' when its load has begun
-- returns ok
-- include: store/base
for at = first.notes, #ARGV, 2 do
  local model, note = ARGV[at], ARGV[at + 1]
  if redis.call('EXISTS', P .. 'waiting:' .. model) == 0 then
    redis.call('ZREM', P .. 'demand', model)
    redis.call('HDEL', model_key(model), 'demand_note')
  elseif note == '' then redis.call('HDEL', model_key(model), 'demand_note')
  else redis.call('HSET', model_key(model), 'demand_note', note) end
end
return 'ok'
