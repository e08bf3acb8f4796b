-- Work on many jobs in steps: one call ends or requeues about MAX_JOBS of them. What is left is recorded in
-- `unfinished` in the same call, and `expire` continues it.
local MAX_JOBS = 100
local jobs_left = MAX_JOBS

-- Requeue or fail the jobs of a replica that is gone. Returns the model whose queue changed, or nil.
local function end_jobs_of_replica(replica, code, message)
  local changed
  if jobs_left > 0 then
    for _, id in ipairs(redis.call('HRANDFIELD', slots_key(replica), jobs_left)) do
      changed = requeue_or_fail(id, code, message) or changed
      redis.call('HDEL', slots_key(replica), id)
      jobs_left = jobs_left - 1
    end
  end
  if redis.call('EXISTS', slots_key(replica)) == 1 then record_unfinished('slots', replica, code, message) end
  return changed
end

-- Fail the waiting jobs of a model that will not be served.
local function fail_waiting_jobs(model, code, message)
  if jobs_left > 0 then
    for _, id in ipairs(redis.call('ZRANGE', P .. 'waiting:' .. model, 0, jobs_left - 1)) do
      finish(id, 'failed', { code = code, message = message })
      jobs_left = jobs_left - 1
    end
  end
  if redis.call('EXISTS', P .. 'waiting:' .. model) == 1 then
    record_unfinished('waiting', model, code, message)
  end
end

-- Cancel the jobs of a tenant that wait for a model since a time (us, text) or longer. Returns how many are left.
local function cancel_waiting_jobs(model, tenant, since_us)
  local left = 0
  for _, job in ipairs(delayed_jobs(model)) do
    local admitted_us = redis.call('ZSCORE', P .. 'waiting:' .. model, job.id)
    if job.tenant == tenant and admitted_us and tonumber(admitted_us) <= tonumber(since_us) then
      if jobs_left > 0 then
        finish(job.id, 'cancelled', { code = 'cancelled' })
        jobs_left = jobs_left - 1
      else left = left + 1 end
    end
  end
  for _, priority in ipairs(PRIORITIES) do
    local queue = queue_key(model, priority, tenant)
    if jobs_left > 0 then
      for _, id in ipairs(redis.call('ZRANGE', queue, '-inf', since_us, 'BYSCORE', 'LIMIT', 0, jobs_left)) do
        finish(id, 'cancelled', { code = 'cancelled' })
        jobs_left = jobs_left - 1
      end
    end
    left = left + redis.call('ZCOUNT', queue, '-inf', since_us)
  end
  if left > 0 then record_unfinished('cancel', model, tenant, since_us) end
  return left
end
