#!lua flags=allow-oom
-- A replica's engine accepts requests. When all replicas of a load do, the model is loaded, its slots open, and
-- waiting jobs are dispatched.
-- KEYS[1] prefix
-- args: replica worker incarnation slots pid memory_mib context longest_token engine properties
-- args: cache_capacity cache_unit
--   pid: of the engine, or ''; memory_mib: measured memory of the engine, or ''
--   context: limit of one request (tokens), or ''; longest_token: bytes, or ''
--   engine: what it reports about itself (JSON)
--   cache_capacity: how much of earlier prompts its prefix cache keeps, or ''; cache_unit: tokens | sequences, or ''
-- returns up | loaded | gone (the load was aborted: the worker has to stop the engine)
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
-- Record what the engines of a model took on GPUs, unless one of them could not be measured.
local function record_gpu_memory(operation, model)
  local sum = 0
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local host, replica_mib = read_fields(replica_key(replica), 'worker', 'memory_mib')
    if redis.call('HGET', worker_key(host), 'device') == 'cuda' then
      if not replica_mib or replica_mib == '' then return end
      sum = sum + tonumber(replica_mib)
    end
  end
  redis.call('HSET', P .. 'operation:' .. operation, 'gpu_memory_mib', text(sum))
end

-- Return how many replicas of a model are up, also those that accept no jobs since their worker drains.
local function count_up(model)
  local count = 0
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    if redis.call('HGET', replica_key(replica), 'state') == 'up' then count = count + 1 end
  end
  return count
end

-- A replica that an operation restores is up.
local function restored(operation, model, progress)
  local finished_us, replicas = read_fields(P .. 'operation:' .. operation, 'finished_us', 'replicas')
  if finished_us or not replicas then return end
  add_progress(operation, progress)
  if redis.call('HINCRBY', P .. 'operation:' .. operation, 'up', 1) >= tonumber(replicas) then
    record_gpu_memory(operation, model)
    end_operation(operation, 'completed')
  end
end

-- Remember who loaded the model, for the receipts of its answers: longer than the operation itself is known.
local LOADS, LOADS_KEPT_S = 100, 400 * 86400
local function record_load(operation, model)
  local authority, definition = read_fields(P .. 'operation:' .. operation, 'authority', 'definition')
  redis.call('XADD', P .. 'loads:' .. model, 'MAXLEN', LOADS, '*', 'at_us', text(NOW), 'operation', operation,
    'authority', authority or '{}', 'definition', definition or '')
  redis.call('EXPIRE', P .. 'loads:' .. model, LOADS_KEPT_S)
end

local key = replica_key(args.replica)
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 'gone' end
local state, model, operation, worker, progress =
  read_fields(key, 'state', 'model', 'operation', 'worker', 'progress')
if state == 'up' and worker == args.worker then return 'up' end -- a repeated call: the answer was lost
if state ~= 'starting' then return 'gone' end
redis.call('HSET', key, 'state', 'up', 'incarnation', args.incarnation, 'slots', args.slots, 'pid', args.pid,
  'memory_mib', args.memory_mib, 'engine', args.engine, 'progress', '1', 'up_us', text(NOW))
if args.cache_capacity ~= '' then
  redis.call('HSET', key, 'cache_capacity', args.cache_capacity, 'cache_unit', args.cache_unit)
end
if args.properties ~= '' then redis.call('SET', P .. 'engine_properties:' .. model, args.properties) end
count_slots(model, tonumber(args.slots))
redis.call('SREM', P .. 'loading_replicas', args.replica)
local replicas = { args.replica } -- when it replaces a lost replica: the others serve already
local loading = redis.call('HGET', model_key(model), 'state') == 'loading'
if loading then
  add_progress(operation, 1 - tonumber(progress))
  local up = redis.call('HINCRBY', P .. 'operation:' .. operation, 'up', 1)
  if up < tonumber(redis.call('HGET', P .. 'operation:' .. operation, 'replicas')) then return 'up' end
  replicas = redis.call('SMEMBERS', P .. 'replicas:' .. model)
end
local memory = 0
for _, replica in ipairs(replicas) do
  local host, replica_mib = read_fields(replica_key(replica), 'worker', 'memory_mib')
  if redis.call('HEXISTS', worker_key(host), 'draining') == 0 then
    redis.call('ZADD', P .. 'ready:' .. model, 0, replica)
  end
  memory = memory and replica_mib ~= '' and memory + tonumber(replica_mib)
end
if loading then
  redis.call('HSET', model_key(model), 'loaded_us', text(NOW), 'context', args.context,
    'longest_token', args.longest_token)
  if args.context ~= '' then redis.call('HSET', P .. 'operation:' .. operation, 'context_tokens', args.context) end
  if memory then
    -- the measurement outlives the load, for the next load with the same options
    redis.call('HSET', model_key(model), 'observed_mib', text(memory), 'observed_replicas', #replicas,
      'observed_variant', redis.call('HGET', model_key(model), 'variant'))
    redis.call('HSET', P .. 'operation:' .. operation, 'memory_mib', text(memory))
  end
  record_gpu_memory(operation, model)
  end_operation(operation, 'completed')
  record_load(operation, model)
  set_model_state(model, 'loaded')
else
  if operation ~= '' then restored(operation, model, 1 - tonumber(progress)) end
  if count_up(model) >= tonumber(redis.call('HGET', model_key(model), 'wanted')) then
    redis.call('HDEL', model_key(model), 'last_error', 'code') -- all replicas are up again, those that drain as well
  end
end
dispatch(model)
return loading and 'loaded' or 'up'
