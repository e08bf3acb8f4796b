#!lua flags=allow-oom
-- A replica's engine accepts requests. When all replicas of a load do, the model is loaded, its slots open, and
-- waiting jobs are dispatched.
-- KEYS[1] prefix
-- ARGV    2 replica  3 worker  4 incarnation  5 slots  6 pid of the engine or ''
--         7 measured memory of the engine (MiB) or ''  8 limit of one request (tokens) or ''
-- returns up | loaded | gone (the load was aborted: the worker has to stop the engine)
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
-- include: model
-- include: replica
local key = replica_key(ARGV[2])
if redis.call('HGET', worker_key(ARGV[3]), 'incarnation') ~= ARGV[4] then return 'gone' end
local row = redis.call('HMGET', key, 'state', 'model', 'operation', 'worker')
if row[1] == 'up' and row[4] == ARGV[3] then return 'up' end -- a repeated call: the answer was lost
if row[1] ~= 'starting' then return 'gone' end
redis.call('HSET', key, 'state', 'up', 'slots', ARGV[5], 'pid', ARGV[6], 'memory_mib', ARGV[7], 'progress', '1',
  'up_us', text(NOW))
local replicas = redis.call('SMEMBERS', P .. 'replicas:' .. row[2])
local loading = redis.call('HGET', model_key(row[2]), 'state') == 'loading'
if not loading then replicas = { ARGV[2] } end -- it replaces a lost replica: the others serve already
for _, replica in ipairs(replicas) do
  if redis.call('HGET', replica_key(replica), 'state') ~= 'up' then return 'up' end
end
local memory = 0
for _, replica in ipairs(replicas) do
  local one = redis.call('HMGET', replica_key(replica), 'worker', 'memory_mib')
  if redis.call('HEXISTS', worker_key(one[1]), 'draining') == 0 then
    redis.call('SADD', P .. 'ready:' .. row[2], replica)
  end
  memory = memory and one[2] ~= '' and memory + tonumber(one[2])
end
if loading then
  redis.call('HSET', model_key(row[2]), 'loaded_us', text(NOW))
  if ARGV[8] ~= '' then redis.call('HSET', P .. 'operation:' .. row[3], 'context_tokens', ARGV[8]) end
  if memory then
    -- the measurement outlives the load, for the next load with the same options
    redis.call('HSET', model_key(row[2]), 'observed_mib', text(memory), 'observed_replicas', #replicas,
      'observed_variant', redis.call('HGET', model_key(row[2]), 'variant'))
    redis.call('HSET', P .. 'operation:' .. row[3], 'memory_mib', text(memory))
  end
  end_operation(row[3], 'completed')
  set_model_state(row[2], 'loaded')
elseif redis.call('SCARD', P .. 'ready:' .. row[2])
  >= tonumber(redis.call('HGET', model_key(row[2]), 'wanted')) then
  redis.call('HDEL', model_key(row[2]), 'last_error') -- all replicas are ready again
end
dispatch(row[2])
return loading and 'loaded' or 'up'
