-- The end of a replica, intended or not. The caller has stopped the engine, or knows that it is dead.

local function delete_replica(replica)
  local model, worker = read_fields(replica_key(replica), 'model', 'worker')
  if not model then return nil end
  redis.call('SREM', P .. 'ready:' .. model, replica)
  redis.call('SREM', P .. 'replicas:' .. model, replica)
  redis.call('SREM', P .. 'worker_replicas:' .. worker, replica)
  redis.call('DEL', replica_key(replica))
  return model
end

-- Fail all waiting jobs of the model.
local function fail_waiting_jobs(model, code, message)
  for _, id in ipairs(redis.call('ZRANGE', P .. 'waiting:' .. model, 0, -1)) do
    finish(id, 'failed', { code = code, message = message })
  end
end

local function fail_model(model, code, message)
  local failure = { code = code, message = message }
  local operation = redis.call('HGET', model_key(model), 'operation')
  if operation then end_operation(operation, 'failed', failure) end
  set_model_state(model, 'failed', failure)
  -- the workers stop the replicas that are left
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    redis.call('HSET', replica_key(replica), 'state', 'stopping')
  end
  redis.call('DEL', P .. 'ready:' .. model)
end

-- Fail a load that waited for the unload of another model, and the jobs that wait for the model.
local function end_waiting_load(model, code, message)
  fail_model(model, code, message)
  if not will_be_served(model) then
    fail_waiting_jobs(model, 'model_failed', 'the model failed while this request waited')
  end
end

-- No replica of the model is left, as intended: end its operation and mark the model unloaded.
local function mark_model_unloaded(model, message)
  local state, operation = read_fields(model_key(model), 'state', 'operation')
  if operation and state == 'loading' then
    end_operation(operation, 'failed', { code = 'load_interrupted', message = message })
  elseif operation then
    end_operation(operation, 'completed')
  end
  set_model_state(model, 'unloaded')
end

-- Remove a replica, and requeue or fail its jobs. Tenants see job_code and job_message (engine_crashed,
-- worker_lost); operators see code and message (also load_failed, load_interrupted, ...), which may contain
-- more detail. When a worker was lost, waiting jobs stay queued: another worker loads the model within
-- seconds, and their wait is bounded. After the crash of the last engine nothing reloads the model by
-- itself, so waiting jobs fail at once.
local function replica_down(replica, job_code, job_message, code, message, gracefully)
  local jobs = redis.call('SMEMBERS', slots_key(replica))
  local model = delete_replica(replica)
  if model then
    local state = redis.call('HGET', model_key(model), 'state')
    local left = redis.call('SCARD', P .. 'replicas:' .. model)
    if gracefully and left == 0 and state ~= 'failed' then
      mark_model_unloaded(model, message)
    elseif state == 'loading' then
      fail_model(model, code, message)
    elseif state == 'loaded' and left == 0 then
      fail_model(model, code, message)
    elseif state == 'unloading' and left == 0 then
      mark_model_unloaded(model, message)
    elseif state == 'loaded' then
      redis.call('HSET', model_key(model), 'last_error', message)
      -- `replace_lost` replaces a replica that was lost with its worker; a crash is left to an operator
      if RECOVERABLE[code] then redis.call('HINCRBY', model_key(model), 'lost', 1) end
    end
  end
  for _, id in ipairs(jobs) do requeue_or_fail(id, job_code, job_message) end
  redis.call('DEL', slots_key(replica))
  if model and not will_be_served(model) then
    fail_waiting_jobs(model, 'model_failed', 'the model failed while this request waited')
  end
  return model
end

-- Remove a worker with its replicas and jobs. `gracefully`: its models become unloaded, not failed.
local function remove_worker(worker, message, gracefully)
  local changed = {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
    local state = redis.call('HGET', replica_key(replica), 'state')
    local code = (state == 'up' or state == 'stopping') and 'worker_lost' or 'load_interrupted'
    local model = replica_down(replica, 'worker_lost', 'the worker that ran this request is gone',
      code, message, gracefully)
    if model then changed[model] = true end
  end
  redis.call('DEL', P .. 'worker_replicas:' .. worker)
  redis.call('HDEL', worker_key(worker), 'incarnation', 'draining')
  redis.call('ZREM', P .. 'workers', worker)
  for model in pairs(changed) do dispatch(model) end
end
