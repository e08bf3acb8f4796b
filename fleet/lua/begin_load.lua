-- Begin to load a model: unloaded|failed -> loading, with one row per replica for its worker to find.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 replicas wanted  5 lease (us)  6.. pairs: replica, worker
-- returns {ok} | {state, state, operation} when the model is in a state that does not allow it
--         | {gone, worker} when a worker went, or began to, since it was chosen
-- include: base
local model, operation = ARGV[2], ARGV[3]
local row = redis.call('HMGET', model_key(model), 'state', 'operation')
local state = row[1] or 'unloaded'
-- replicas of a failed load may still be on their way out
local leaving = redis.call('SCARD', P .. 'replicas:' .. model)
if (state ~= 'unloaded' and state ~= 'failed') then return { 'state', state, row[2] or '' } end
if leaving > 0 then return { 'state', 'unloading', row[2] or '' } end
for at = 7, #ARGV, 2 do
  -- nobody would ever give up what is assigned to a worker that is gone already
  local worker = redis.call('HMGET', worker_key(ARGV[at]), 'incarnation', 'draining')
  if not worker[1] or worker[2] then return { 'gone', ARGV[at] } end
end
redis.call('HSET', model_key(model), 'state', 'loading', 'operation', operation, 'wanted', ARGV[4],
  'changed_us', text(NOW))
redis.call('HDEL', model_key(model), 'last_error', 'code')
redis.call('HSET', P .. 'operation:' .. operation, 'kind', 'load', 'model', model, 'status', 'pending',
  'stage', 'waiting for a worker', 'progress', '0', 'created_us', text(NOW))
redis.call('EXPIRE', P .. 'operation:' .. operation, 86400)
for at = 6, #ARGV, 2 do
  local replica, worker = ARGV[at], ARGV[at + 1]
  redis.call('HSET', replica_key(replica), 'model', model, 'worker', worker, 'state', 'assigned',
    'operation', operation, 'progress', '0', 'lease_us', ARGV[5])
  redis.call('SADD', P .. 'replicas:' .. model, replica)
  redis.call('SADD', P .. 'hosts:' .. worker, replica)
end
return { 'ok' }
