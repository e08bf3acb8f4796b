-- include: fleet/flush
-- The end of a replica, intended or not. The caller has stopped the engine, or knows that it is dead.

-- The memory (MiB) that the engine held right before it was stopped, '' when it was not measured. Set by the script
-- `replica_down`.
local freed_mib = ''

-- Add to an unload what one of its replicas freed on GPUs. The sum is unknown when one of them is.
local function count_freed(operation, worker)
  local key = P .. 'operation:' .. operation
  if redis.call('HGET', worker_key(worker), 'device') ~= 'cuda' then return end
  if freed_mib == '' then redis.call('HDEL', key, 'gpu_memory_mib')
  elseif redis.call('HEXISTS', key, 'gpu_memory_mib') == 1 then
    redis.call('HINCRBY', key, 'gpu_memory_mib', freed_mib)
  end
end

local function delete_replica(replica)
  local model, worker, progress, slots, flushes, replica_state =
    read_fields(replica_key(replica), 'model', 'worker', 'progress', 'slots', 'flushes', 'state')
  if not model then return nil end
  if flushes then end_flushes_of(replica, replica_state, flushes) end
  if slots then count_slots(model, -slots) end -- its engine was up
  local state, operation = read_fields(model_key(model), 'state', 'operation')
  if state == 'unloading' then
    add_progress(operation, 1 - tonumber(progress)) -- it counts as done
    count_freed(operation, worker)
  elseif state == 'loaded' and replica_state == 'stopping' then
    redis.call('HINCRBY', model_key(model), 'leaving', -1)
  end
  redis.call('ZREM', P .. 'ready:' .. model, replica)
  redis.call('SREM', P .. 'replicas:' .. model, replica)
  redis.call('SREM', P .. 'loading_replicas', replica)
  redis.call('SREM', P .. 'stalled_replicas', replica)
  redis.call('SREM', P .. 'worker_replicas:' .. worker, replica)
  redis.call('DEL', replica_key(replica))
  for _, priority in ipairs(PRIORITIES) do redis.call('DEL', warm_key(replica, priority)) end
  return model
end

local function fail_model(model, code, message)
  local failure = { code = code, message = message }
  local operation = redis.call('HGET', model_key(model), 'operation')
  if operation then end_operation(operation, 'failed', failure) end
  set_model_state(model, 'failed', failure)
  if not RECOVERABLE[code] then pause_demand(model) end
  -- the workers stop the replicas that are left
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    redis.call('HSET', replica_key(replica), 'state', 'stopping')
  end
  redis.call('DEL', P .. 'ready:' .. model)
  redis.call('DEL', P .. 'prefixes:' .. model)
end

local LOAD_FAILURES = { load_failed = true, load_timeout = true, out_of_memory = true }

-- The reason of a failed load for tenants: without quoted texts that have a path, paths and IP addresses, cut off.
local function public_reason(message)
  local text = message:gsub('"[^"]*[/\\][^"]*"', '...'):gsub("'[^']*[/\\][^']*'", '...')
  text = text:gsub('[^%s]*[/\\][^%s]*', '...'):gsub('%d+%.%d+%.%d+%.%d+[:%d]*', '...')
  if #text > 300 then text = text:sub(1, 300):gsub('[\192-\255][\128-\191]*$', '') .. '...' end
  return text
end

-- Fail the jobs that wait for a model that failed, unless it will be served again. code: of the failure.
local function fail_unserved_jobs(model, code)
  if will_be_served(model) then return end
  local reason = code
  local message = LOAD_FAILURES[code] and redis.call('HGET', model_key(model), 'last_error')
  if message then reason = code .. ': ' .. public_reason(message) end
  fail_waiting_jobs(model, 'model_failed', 'the model failed while this request waited (' .. reason .. ')')
end

-- Fail a load that waited for the unload of another model, and the jobs that wait for the model.
local function end_waiting_load(model, code, message)
  fail_model(model, code, message)
  fail_unserved_jobs(model, code)
end

-- No replica of the model is left, as intended: end its operation and mark the model unloaded.
local function mark_model_unloaded(model, message)
  local state, operation = read_fields(model_key(model), 'state', 'operation')
  if operation and (state == 'loading' or state == 'loaded') then -- a loaded model: a load restores replicas
    end_operation(operation, 'failed', { code = 'load_interrupted', message = message })
  elseif operation then
    end_operation(operation, 'completed')
  end
  redis.call('DEL', P .. 'prefixes:' .. model)
  set_model_state(model, 'unloaded')
end

-- How crashed engines are started again: { most, window_us, delay_us, longest_us }. Set by the script
-- `replica_down`, by which workers report crashes.
local restart_limits = nil

-- Whether the end of a replica counts as a crash, after which it is started again: its engine ended while it was
-- up, or while the platform started it again. A start that an operator asked for is not repeated.
local function is_crash(model, model_state, replica_state, operation, code)
  if not restart_limits or RECOVERABLE[code] or replica_state == 'stopping' then return false end
  if model_state == 'loaded' then return replica_state == 'up' or operation == '' end
  local since = text(NOW - restart_limits.window_us)
  return model_state == 'loading' and redis.call('ZCOUNT', P .. 'crashes:' .. model, since, '+inf') > 0
end

-- Record a crash. Returns the time (us) of the restart or nil, and how many crashes the window has.
local function record_crash(model, replica)
  local key = P .. 'crashes:' .. model
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(NOW - restart_limits.window_us))
  redis.call('ZADD', key, text(NOW), replica)
  add_to_counter('crashes ' .. model_label(model))
  local count = redis.call('ZCARD', key)
  if count > restart_limits.most then return nil, count end
  return NOW + math.min(restart_limits.delay_us * 2 ^ (count - 1), restart_limits.longest_us), count
end

-- Remove a replica, and requeue or fail its jobs. Tenants see job_code and job_message (engine_crashed,
-- worker_lost); operators see code and message (also load_failed, load_interrupted, ...), which may contain
-- more detail. Waiting jobs stay queued when a worker was lost, since another one loads the model within
-- seconds, and when a restart is due; their wait is bounded. After a crash too many nothing reloads the model
-- by itself, so they fail at once. Returns the model to dispatch for, or nil; a repeated call may return it,
-- too, since it ends the next jobs of the replica.
local function replica_down(replica, job_code, job_message, code, message, gracefully)
  local was, operation = read_fields(replica_key(replica), 'state', 'operation')
  local model = delete_replica(replica)
  if model then
    local state = redis.call('HGET', model_key(model), 'state')
    local left, stay = redis.call('SCARD', P .. 'replicas:' .. model), count_staying(model)
    local crashed = is_crash(model, state, was, operation, code)
    local restart_us, count = nil, nil
    if crashed then restart_us, count = record_crash(model, replica) end
    if crashed then suspicion_us = restart_limits.window_us end
    if crashed and not restart_us and restart_limits.most > 0 then
      message = message .. '; its engines ended ' .. count .. ' times within '
        .. text(restart_limits.window_us / 1000000) .. ' s, so it is not started again by itself'
    end
    if gracefully and left == 0 and state ~= 'failed' then
      mark_model_unloaded(model, message)
    elseif state == 'loading' or (state == 'loaded' and stay == 0) then
      -- the last replica that a load restores does not start, and the restart of another one is due
      if not crashed and not RECOVERABLE[code] then restart_us = redis.call('HGET', model_key(model), 'restart_us') end
      fail_model(model, code, message)
      if restart_us then redis.call('HSET', model_key(model), 'restart_us', text(tonumber(restart_us))) end
    elseif state == 'unloading' and left == 0 then
      mark_model_unloaded(model, message)
    elseif state == 'loaded' and was == 'stopping' then
      make_recovery_due() -- one replica less, as intended: its memory is free now
    elseif state == 'loaded' and was ~= 'up' and redis.call('HEXISTS', P .. 'operation:' .. operation, 'grows') == 1 then
      end_operation(operation, 'failed', { code = code, message = message }) -- nothing is missing without it
    elseif state == 'loaded' then
      redis.call('HSET', model_key(model), 'code', code, 'last_error', message)
      -- a load that restores replicas; the other replicas serve
      if was ~= 'up' and operation ~= '' then end_operation(operation, 'failed', { code = code, message = message }) end
      -- `replace_lost` replaces a replica that was lost with its worker at once, one that crashed after the delay
      if RECOVERABLE[code] then
        redis.call('HINCRBY', model_key(model), 'lost', 1)
        make_recovery_due()
      elseif restart_us then
        redis.call('HINCRBY', model_key(model), 'crashed', 1)
        redis.call('HSET', model_key(model), 'restart_us', text(restart_us))
      elseif crashed then
        redis.call('HDEL', model_key(model), 'crashed', 'restart_us')
      end
    end
  end
  local changed = end_jobs_of_replica(replica, job_code, job_message)
  if suspicion_us then suspect_tenant(model) end
  if model then fail_unserved_jobs(model, code) end
  return model or changed
end

-- Remove a worker with its replicas, and requeue or fail their jobs. `gracefully`: its models become unloaded,
-- not failed.
local function remove_worker(worker, message, gracefully)
  local changed = {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
    local state = redis.call('HGET', replica_key(replica), 'state')
    local code = (state == 'up' or state == 'stopping') and 'worker_lost' or 'load_interrupted'
    local model = replica_down(replica, 'worker_lost', 'the worker that ran this request is gone',
      code, message, gracefully)
    if model then changed[model] = true end
    jobs_left = jobs_left - 1 -- a replica is as much work as a job
  end
  redis.call('DEL', P .. 'worker_replicas:' .. worker)
  local incarnation = redis.call('HGET', worker_key(worker), 'incarnation')
  if incarnation then redis.call('DEL', claims_key(incarnation)) end
  redis.call('HDEL', worker_key(worker), 'incarnation', 'draining')
  redis.call('ZREM', P .. 'workers', worker)
  for model in pairs(changed) do dispatch(model) end
end
