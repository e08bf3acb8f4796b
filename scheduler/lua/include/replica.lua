-- A replica's end, wanted or not. Who calls it has stopped the engine, or knows that it is dead.

local function delete_replica(replica)
  local row = redis.call('HMGET', replica_key(replica), 'model', 'worker')
  if not row[1] then return nil end
  redis.call('SREM', P .. 'ready:' .. row[1], replica)
  redis.call('SREM', P .. 'replicas:' .. row[1], replica)
  redis.call('SREM', P .. 'worker_replicas:' .. row[2], replica)
  redis.call('DEL', replica_key(replica))
  return row[1]
end

-- Everybody who waits for the model leaves the line unserved.
local function fail_waiting_jobs(model, code, message)
  for _, id in ipairs(redis.call('ZRANGE', P .. 'waiting:' .. model, 0, -1)) do
    finish(id, 'failed', { code = code, message = message })
  end
end

local function fail_model(model, code, message)
  local why = { code = code, message = message }
  local operation = redis.call('HGET', model_key(model), 'operation')
  if operation then end_operation(operation, 'failed', why) end
  set_model_state(model, 'failed', why)
  -- one for all: what is left of it is torn down by its workers
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    redis.call('HSET', replica_key(replica), 'state', 'stopping')
  end
  redis.call('DEL', P .. 'ready:' .. model)
end

-- A load that waited for another model's end comes to nothing: nobody brings it back, so who waits is told.
local function end_waiting_load(model, code, message)
  fail_model(model, code, message)
  if not will_be_served(model) then fail_waiting_jobs(model, 'model_failed', 'the model failed while this request waited') end
end

-- Nothing of the model is left, as somebody wished.
local function mark_model_unloaded(model, message)
  local row = redis.call('HMGET', model_key(model), 'state', 'operation')
  if row[2] and row[1] == 'loading' then
    end_operation(row[2], 'failed', { code = 'load_interrupted', message = message })
  elseif row[2] then
    end_operation(row[2], 'completed')
  end
  set_model_state(model, 'unloaded')
end

-- job_code and job_message tell the tenants (engine_crashed, worker_lost), code and message the operators
-- (also load_failed, load_interrupted, ...), who may see more than a tenant.
-- Those who wait stay in line when a worker was lost: another one takes over in seconds, and the wait is
-- bounded. When an engine crashed nobody comes by itself, so they are told at once.
local function replica_down(replica, job_code, job_message, code, message, gracefully)
  local held = redis.call('SMEMBERS', slots_key(replica))
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
      -- one that went with its worker is replaced by whoever finds room for it; a crash is for an operator
      if RECOVERABLE[code] then redis.call('HINCRBY', model_key(model), 'lost', 1) end
    end
  end
  for _, id in ipairs(held) do requeue_or_fail(id, job_code, job_message) end
  redis.call('DEL', slots_key(replica))
  if model and not will_be_served(model) then
    fail_waiting_jobs(model, 'model_failed', 'the model failed while this request waited')
  end
  return model
end

-- The worker is gone: all that it held goes the same way. One that left gracefully leaves no failed model.
local function worker_gone(worker, message, gracefully)
  local touched = {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
    local state = redis.call('HGET', replica_key(replica), 'state')
    local code = (state == 'up' or state == 'stopping') and 'worker_lost' or 'load_interrupted'
    local model = replica_down(replica, 'worker_lost', 'the worker that ran this request is gone',
      code, message, gracefully)
    if model then touched[model] = true end
  end
  redis.call('DEL', P .. 'worker_replicas:' .. worker)
  redis.call('HDEL', worker_key(worker), 'incarnation', 'draining')
  redis.call('ZREM', P .. 'workers', worker)
  for model in pairs(touched) do dispatch(model) end
end
