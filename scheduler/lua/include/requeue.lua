-- Jobs whose replica or worker is gone: a job with an empty log is queued again once, any other fails. So a
-- client never receives the same text twice.
local MAX_ATTEMPTS = 2

-- Failures after which the next worker loads the model again: the worker was lost, the model has no fault.
local RECOVERABLE = { worker_lost = true, load_interrupted = true }

-- Whether waiting jobs of the model will be served: it is loaded or loading, or will be loaded again.
local function will_be_served(model)
  local row = redis.call('HMGET', model_key(model), 'state', 'code', 'wanted')
  if row[1] == 'failed' then return RECOVERABLE[row[2]] end
  if row[1] == 'unloaded' then return row[3] and row[3] ~= '0' end
  return row[1] == 'loaded' or row[1] == 'loading'
end

local function requeue(id)
  local row = redis.call('HMGET', job_key(id), 'model', 'priority', 'tenant', 'admitted_us', 'replica',
    'weight', 'cost', 'max_wait_us')
  redis.call('SREM', slots_key(row[5]), id)
  redis.call('ZREM', P .. 'leases', id)
  redis.call('HDEL', job_key(id), 'replica', 'worker', 'fence', 'claimed_us')
  redis.call('HSET', job_key(id), 'status', 'queued')
  settle_usage(row[1], row[3], tonumber(row[6]), -tonumber(row[7]))
  -- it waits no longer than a new job would, and no longer than it could have run
  redis.call('ZADD', P .. 'deadlines', 'LT', text(NOW + tonumber(row[8])), id)
  join_queue(id, row[1], row[2], row[3], tonumber(row[4]))
end

-- Returns the model whose queue changed, or nil.
local function requeue_or_fail(id, code, message)
  local row = redis.call('HMGET', job_key(id), 'status', 'last', 'attempts', 'cancel', 'model')
  if not row[1] or TERMINAL[row[1]] or row[1] == 'queued' then return nil end
  if row[4] == '1' then return finish(id, 'cancelled', { code = 'cancelled' }) end
  if row[2] == '0' and tonumber(row[3]) < MAX_ATTEMPTS and will_be_served(row[5]) then
    requeue(id)
    return row[5]
  end
  return finish(id, 'failed', { code = code, message = message })
end
