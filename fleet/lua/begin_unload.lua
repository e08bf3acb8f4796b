#!lua flags=allow-oom
-- Begin to unload: loaded -> unloading. Nothing more is admitted or dispatched, what waits is told so, what
-- runs may finish; the workers stop the engines when their slots are empty.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation
-- returns {ok, replica, worker, ...} | {state, state, operation}
-- include: base
-- include: log
-- include: line
-- include: terminal
-- include: dispatch
-- include: lost
-- include: replica
local model, operation = ARGV[2], ARGV[3]
local row = redis.call('HMGET', model_key(model), 'state', 'operation')
local state = row[1] or 'unloaded'
if state == 'failed' or state == 'unloaded' then
  redis.call('HSET', model_key(model), 'wanted', '0')
  if redis.call('SCARD', P .. 'replicas:' .. model) == 0 then
    if state == 'failed' then
      redis.call('HSET', model_key(model), 'state', 'unloaded', 'changed_us', text(NOW))
    end
    evict(model, 'model_unloading', 'the model is being unloaded')
    return { 'state', 'unloaded', row[2] or '' }
  end
elseif state ~= 'loaded' then
  return { 'state', state, row[2] or '' }
end
redis.call('HSET', model_key(model), 'state', 'unloading', 'operation', operation, 'wanted', '0',
  'changed_us', text(NOW))
redis.call('HSET', P .. 'operation:' .. operation, 'kind', 'unload', 'model', model, 'status', 'running',
  'stage', 'draining', 'progress', '0', 'created_us', text(NOW))
redis.call('EXPIRE', P .. 'operation:' .. operation, 86400)
redis.call('DEL', P .. 'ready:' .. model)
evict(model, 'model_unloading', 'the model is being unloaded')
local answer = { 'ok' }
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
  redis.call('HSET', replica_key(replica), 'state', 'stopping')
  answer[#answer + 1] = replica
  answer[#answer + 1] = redis.call('HGET', replica_key(replica), 'worker')
end
return answer
