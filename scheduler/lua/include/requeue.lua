-- Jobs whose replica or worker is gone: a job with an empty log is queued again once, any other fails. So a
-- client never receives the same text twice.
local MAX_ATTEMPTS = 2

-- Failures after which the next worker loads the model again: the worker was lost, the model has no fault.
local RECOVERABLE = { worker_lost = true, load_interrupted = true }

-- Whether waiting jobs of the model will be served: it is loaded or loading, or will be loaded again.
local function will_be_served(model)
  local state, code, wanted = read_fields(model_key(model), 'state', 'code', 'wanted')
  if state == 'failed' then return RECOVERABLE[code] end
  if state == 'unloaded' then return wanted and wanted ~= '0' end
  return state == 'loaded' or state == 'loading'
end

local function requeue(id)
  local model, priority, tenant, admitted_us, replica, weight, cost, max_wait_us =
    read_fields(job_key(id), 'model', 'priority', 'tenant', 'admitted_us', 'replica', 'weight', 'cost',
      'max_wait_us')
  redis.call('SREM', slots_key(replica), id)
  redis.call('ZREM', P .. 'leases', id)
  redis.call('HDEL', job_key(id), 'replica', 'worker', 'fence', 'claimed_us')
  redis.call('HSET', job_key(id), 'status', 'queued')
  settle_usage(model, tenant, tonumber(weight), -tonumber(cost))
  -- it waits no longer than a new job would, and no longer than it could have run
  redis.call('ZADD', P .. 'deadlines', 'LT', text(NOW + tonumber(max_wait_us)), id)
  join_queue(id, model, priority, tenant, tonumber(admitted_us))
end

-- Returns the model whose queue changed, or nil.
local function requeue_or_fail(id, code, message)
  local status, last, attempts, cancel, model =
    read_fields(job_key(id), 'status', 'last', 'attempts', 'cancel', 'model')
  if not status or TERMINAL[status] or status == 'queued' then return nil end
  if cancel == '1' then return finish(id, 'cancelled', { code = 'cancelled' }) end
  if last == '0' and tonumber(attempts) < MAX_ATTEMPTS and will_be_served(model) then
    requeue(id)
    return model
  end
  return finish(id, 'failed', { code = code, message = message })
end
