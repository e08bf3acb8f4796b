-- include: store/counters
-- Jobs whose replica or worker is gone: a job without output is queued again once, any other fails. So a
-- client never receives the same text twice. How much of its prompt was read is no output, and comes before it.
local MAX_ATTEMPTS = 2

-- Failures after which the next worker loads the model again: the worker was lost, the model has no fault.
local RECOVERABLE = { worker_lost = true, load_interrupted = true }

-- Whether waiting jobs of the model will be served: it is loaded or loading, or will be loaded again, by recovery or
-- on demand. again: for a job that is queued again, for which a model that makes room is loaded again, too.
local function will_be_served(model, again)
  local state, code, wanted, restart_us, leaves_for =
    read_fields(model_key(model), 'state', 'code', 'wanted', 'restart_us', 'leaves_for')
  if state == 'loaded' or state == 'loading' then return true end
  if state == 'failed' and (RECOVERABLE[code] or restart_us) then return true end
  if state == 'unloaded' and wanted and wanted ~= '0' then return true end
  if again and leaves_for and (state == 'unloading' or state == 'unloaded') then
    redis.call('ZADD', P .. 'demand', 'NX', text(NOW), model)
  end
  return redis.call('ZSCORE', P .. 'demand', model)
end

local function requeue(id, job)
  add_to_counter('retries ' .. model_label(job.model))
  free_slot(id, job)
  redis.call('ZREM', P .. 'leases', id)
  redis.call('HDEL', job_key(id), 'replica', 'slots', 'worker', 'fence', 'claimed_us', 'counted', 'reuse', 'warm', 'was_delayed')
  redis.call('HSET', job_key(id), 'status', 'queued', 'moved_from', job.replica)
  settle_usage(job.model, job.tenant, tonumber(job.weight), -charged_for(job))
  -- it waits no longer than a new job would, and no longer than it could have run
  redis.call('ZADD', P .. 'deadlines', 'LT', text(NOW + tonumber(job.max_wait_us)), id)
  join_queue(id, job.model, job.priority, job.tenant, tonumber(job.admitted_us))
  job.status = 'queued'
end

-- While a crash is worked off: how long (us) a tenant is suspected, and the tenants of jobs that have crashed a second
-- engine before their first output.
local suspicion_us, crashed_two = nil, {}

-- Whether a job that had no output when its engine crashed may cost no second engine: its tenant is suspected.
local function is_suspected(job, has_output)
  if has_output then return false end
  if tonumber(job.attempts) >= MAX_ATTEMPTS then crashed_two[job.tenant] = true end
  local since = tonumber(redis.call('ZSCORE', P .. 'suspects:' .. job.model, job.tenant))
  return since and since > NOW - suspicion_us
end

-- Suspect the tenant whose jobs have crashed a second engine, unless jobs of several tenants ran in both crashes.
local function suspect_tenant(model)
  local tenant = next(crashed_two)
  if tenant and not next(crashed_two, tenant) then
    redis.call('ZADD', P .. 'suspects:' .. model, text(NOW), tenant)
  end
end

-- Queue a running job again, or end it. job: its fields, if the caller has read them. Returns the model to
-- dispatch for, or nil when the job does not run.
local function requeue_or_fail(id, code, message, job)
  job = job or read_job(id)
  if job.status ~= 'running' then return nil end
  if job.cancel == '1' then return finish(id, 'cancelled', { code = 'cancelled' }, job) end
  local last = redis.call('XREVRANGE', log_key(id), '+', '-', 'COUNT', 1)[1]
  local has_output = last and string.find(last[2][2], '{"t":"progress"', 1, true) ~= 1
  if suspicion_us and is_suspected(job, has_output) then
    return finish(id, 'failed', { code = code, message = message }, job)
  end
  if tonumber(job.attempts) < MAX_ATTEMPTS and not has_output and will_be_served(job.model, true) then
    requeue(id, job)
    return job.model
  end
  return finish(id, 'failed', { code = code, message = message }, job)
end
