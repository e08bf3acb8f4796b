-- include: service_rate
-- include: token_parts
-- End a job; every end goes through this function. In one step: leave the queue, free the slot, delete
-- lease and deadline, settle the usage, append and publish the terminal event.
--
-- job: its fields, if the caller has read them (`read_job`); `last` is the number of its last event, if known.
-- outcome: { code, message, finish_reason, usage, tokens, log_bytes }, all optional; usage is JSON text, tokens its
-- sum, log_bytes the size of the run's events.
-- Returns the model to dispatch for, or nil when the job had ended already.
finish = function(id, status, outcome, job)
  job = job or read_job(id)
  local was, model = job.status, job.model
  if not was or TERMINAL[was] then return nil end
  -- from now on its deadline is the end of its retention
  redis.call('ZADD', P .. 'deadlines', text(NOW + tonumber(job.retention_s) * 1000000), id)
  if job.token_window_us then correct_tokens(job, was == 'queued' and 0 or outcome.tokens) end
  if was == 'queued' then
    leave_queue(id, model, job.priority, job.tenant)
    write_usage(model)
  else
    free_slot(id, job)
    redis.call('ZREM', P .. 'leases', id)
    if job.cancel == '1' then redis.call('SREM', cancelled_key(job.worker), id) end
    if job.claimed_us then note_run_time(model, job.tenant, (NOW - tonumber(job.claimed_us)) / 1000) end
    if outcome.tokens then
      settle_usage(model, job.tenant, tonumber(job.weight), outcome.tokens - tonumber(job.cost))
    end
  end

  local admitted, claimed = tonumber(job.admitted_us), tonumber(job.claimed_us)
  local parts = { '{"t":"end","status":"', status, '"' }
  for _, field in ipairs({ 'finish_reason', 'code', 'message' }) do
    if outcome[field] and outcome[field] ~= '' then
      parts[#parts + 1] = ',"' .. field .. '":' .. cjson.encode(outcome[field])
    end
  end
  if outcome.usage and outcome.usage ~= '' then parts[#parts + 1] = ',"usage":' .. outcome.usage end
  parts[#parts + 1] = ',"queue_ms":' .. text(math.floor(((claimed or NOW) - admitted) / 1000))
  parts[#parts + 1] = ',"run_ms":' .. text(claimed and math.floor((NOW - claimed) / 1000) or 0) .. '}'
  local event = table.concat(parts)
  local last = was == 'queued' and 0 or job.last or log_length(id) -- only an empty log is queued again
  append_event(id, text(last + 1), event)
  publish(job.subscribers, id, text(last + 1), event)

  local key = job_key(id)
  local bytes = JOB_BYTES + (outcome.log_bytes or redis.call('MEMORY', 'USAGE', log_key(id)))
  if job.store == '1' then bytes = bytes + (tonumber(job.size) or 0) end
  count_bytes(job.tenant, bytes - (tonumber(job.bytes) or 0))
  redis.call('HSET', key, 'status', status, 'ended_us', text(NOW), 'bytes', text(bytes))
  if job.store ~= '1' then redis.call('HDEL', key, 'generation', 'echo') end
  job.status = status
  return model
end

-- Ask the worker of a running job to stop it; its heartbeat repeats the request.
local function ask_to_stop(id, job)
  redis.call('HSET', job_key(id), 'cancel', '1')
  redis.call('HSET', slots_key(job.replica), id, slot_value(job.fence, job.subscribers, '1'))
  redis.call('SADD', cancelled_key(job.worker), id)
  redis.call('PUBLISH', P .. 'notify:' .. job.worker, 'cancel ' .. id)
end
