-- include: scheduler/service_rate
-- include: scheduler/token_parts
-- List an ended job in the stream `ended`, for `count_ended_jobs`: a line of text that is counted, and one that is kept with
-- it in the history of requests; the id of its key; and its texts, if its tenant allows it. `bytes` is what it adds to its
-- tenant's bytes; times in us.
local function append_ended(id, job, status, outcome, queue_us, run_us, bytes)
  -- Return what the history keeps of the texts of an ended job, two lines of JSON: of the prompt, as the API has written it, and
  -- of the answer's text the first MAX_BYTES, of what MAX_READS reads of the log have.
  local function texts_of(id)
    local MAX_BYTES, MAX_READS, COUNT = 16384, 10, 200
    local prompt = redis.call('HGET', job_key(id), 'prompt_text')
    local pieces, room, is_cut, place = {}, MAX_BYTES, false, '-'
    for read = 1, MAX_READS do
      local entries = redis.call('XRANGE', log_key(id), place, '+', 'COUNT', COUNT)
      for _, entry in ipairs(entries) do
        local event = entry[2][2] -- the text in it is JSON already: pieces of it together are, too
        local piece = string.match(event, '^{"t":"text","d":"(.*)"}$')
          or string.match(event, '^{"t":"scored","d":"(.-)","p":%[')
        if piece and #piece > room then -- a space is no part of a character or of an escape
          is_cut, piece = true, string.match(string.sub(piece, 1, room), '^(.* )') or ''
        end
        pieces[#pieces + 1] = piece
        room = room - #(piece or '')
        if is_cut then break end
      end
      if is_cut or #entries < COUNT then break end
      is_cut, place = read == MAX_READS, '(' .. entries[COUNT][1]
    end
    return prompt .. '\n{"text":"' .. table.concat(pieces) .. '","is_cut":' .. tostring(is_cut) .. '}'
  end

  redis.call('XADD', P .. 'ended', '*', 'e', table.concat({ job.tenant, job.model, job.priority, status,
    string.match(outcome.code or '', '^[%w_]+$') or '-', string.match(outcome.finish_reason or '', '^[%w_]+$') or '-',
    job.attempts, text(queue_us), text(run_us), outcome.first_ms or '-', text(bytes), outcome.tokens and outcome.usage or '' }, ' '),
    'r', table.concat({ id, text(NOW), job.admitted_us, job.claimed_us or '-', job.dialect or '-', job.worker or '-',
      job.replica or '-', job.load_us or '-', job.moved_from or '-', job.client or '' }, ' '), 'k', job.key or '-',
    unpack(job.keeps_text and { 't', texts_of(id) } or {}))
end

-- End a job; every end goes through this function. In one step: leave the queue, free the slot, delete
-- lease and deadline, settle the usage, append and publish the terminal event, and list the job in `ended`.
--
-- job: its fields, if the caller has read them (`read_job`); `last` is the number of its last event, if known.
-- outcome: { code, message, finish_reason, stop_sequence, usage, tokens, work, log_bytes, first_ms }, all optional;
-- usage is JSON text, tokens its sum (nil: the usage is reported, and counts for nothing), work what of it counts for
-- fair share (nil: all), log_bytes the size of the run's events, first_ms the time from the claim to the first output.
-- Returns the model to dispatch for, or nil when the job had ended already.
finish = function(id, status, outcome, job)
  job = job or read_job(id)
  local was, model = job.status, job.model
  if not was or TERMINAL[was] then return nil end
  if job.late == '1' and status == 'cancelled' then status, outcome.code = 'failed', 'deadline_exceeded' end
  -- from now on its deadline is the end of its retention
  redis.call('ZADD', P .. 'deadlines', text(NOW + tonumber(job.retention_s) * 1000000), id)
  if job.token_window_us then correct_tokens(job, was == 'queued' and 0 or outcome.tokens) end
  if was == 'queued' then
    if job.delayed then end_delay(model, string.match(job.delayed, '^%S+ %S+ (.*)$'), id, job)
    else
      leave_queue(id, model, job.priority, job.tenant)
      leave_warm(id, job.warm, job.priority, job.tenant)
    end
    write_usage(model)
  else
    free_slot(id, job)
    redis.call('ZREM', P .. 'leases', id)
    if job.cancel == '1' then redis.call('SREM', cancelled_key(job.worker), id) end
    local is_whole = status == 'completed' or status == 'incomplete'
    if job.claimed_us then note_run_time(model, job.tenant, (NOW - tonumber(job.claimed_us)) / 1000, is_whole) end
    if outcome.tokens then
      local work = outcome.work or outcome.tokens
      settle_usage(model, job.tenant, tonumber(job.weight), work - charged_for(job))
      local computed = job.reuse and is_whole and count_stored(job, outcome.usage)
      if computed then note_prompt_time(model, computed, outcome.first_ms) end
    end
  end

  local admitted, claimed = tonumber(job.admitted_us), tonumber(job.claimed_us)
  local parts = { '{"t":"end","status":"', status, '"' }
  for _, field in ipairs({ 'finish_reason', 'stop_sequence', 'code', 'message' }) do
    if outcome[field] and outcome[field] ~= '' then
      parts[#parts + 1] = ',"' .. field .. '":' .. cjson.encode(outcome[field])
    end
  end
  if outcome.usage and outcome.usage ~= '' then parts[#parts + 1] = ',"usage":' .. outcome.usage end
  -- the clock may have been set meanwhile: sums of usage never shrink, and no run counts for more than its time limit
  local SLACK_US = 10 * 1000000 -- until the reaper has ended it
  local ended = math.min(NOW, job.run_by_us and tonumber(job.run_by_us) + SLACK_US or NOW)
  local queue_us, run_us = math.max((claimed or NOW) - admitted, 0), claimed and math.max(ended - claimed, 0) or 0
  parts[#parts + 1] = ',"queue_ms":' .. text(math.floor(queue_us / 1000))
  parts[#parts + 1] = ',"run_ms":' .. text(math.floor(run_us / 1000))
  if outcome.first_ms then parts[#parts + 1] = ',"first_ms":' .. text(outcome.first_ms) end
  parts[#parts + 1] = '}'
  local event = table.concat(parts)
  local last = was == 'queued' and job.attempts == '0' and 0 or job.last or log_length(id)
  append_event(id, text(last + 1), event)
  publish(job.subscribers, id, text(last + 1), event)

  local key = job_key(id)
  local bytes = JOB_BYTES + (outcome.log_bytes or redis.call('MEMORY', 'USAGE', log_key(id)))
  local echo_bytes = string.match(job.resumable or '', '^%S+ %S+ (%d+) ') -- of a stream that can be read again
  if job.store == '1' then bytes = bytes + (tonumber(job.size) or 0)
  elseif echo_bytes then bytes = bytes + tonumber(echo_bytes) end
  local change = bytes - (tonumber(job.bytes) or 0)
  if math.abs(change) >= LARGE_BYTES then
    count_bytes(job.tenant, change)
    change = 0
  end
  append_ended(id, job, status, outcome, queue_us, run_us, change)
  redis.call('HSET', key, 'status', status, 'ended_us', text(NOW), 'bytes', text(bytes))
  if job.store ~= '1' then redis.call('HDEL', key, 'generation', echo_bytes and 'generation' or 'echo', 'prompt_text')
  elseif job.keeps_text then redis.call('HDEL', key, 'prompt_text') end
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
