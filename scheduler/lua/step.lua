#!lua flags=allow-oom
-- Write what one step of a worker's engines produced: the events of any number of jobs, then the ends of jobs.
-- Each freed slot is given to the next job in the same call. Every group of events and every end carries the
-- fence of its claim, so a worker that lost the job changes nothing. Events that are in the log already (a
-- repeated call) are skipped. Events after a gap, and an end without all events before it, end the job as
-- failed: Redis has lost data.
-- Called as a function of Redis (store/function_library.py).
-- KEYS[1] prefix
-- args: incarnation section_count output..
--   output: sections, one for each replica: replica, number of jobs n, n ids, n fences, n numbers of their first
--     events, n numbers of events, then all these events;
--     the last section has no replica ('') where jobs have events, and end in this call;
--     then ends: id, fence, status, finish_reason, code, message, usage (JSON) or '', tokens or '',
--     '1' when the job may be queued again if its log is empty, number of the run's last event or '',
--     size of the run's events (bytes) or '', time from its claim to its first output (ms) or '', the stop
--     sequence that ended it or '', the tokens that count for fair share or '' (all of them)
-- returns {{id, reason, ...} of the jobs whose run must stop (reason: fenced | cancel | log_lost),
--         {claim message, ...} of this worker's next jobs}
-- include: scheduler/step_events
local END_FIELDS = 14
collect_copies()

local at, sections = first.output - 1, tonumber(args.section_count)
while sections > 0 and ARGV[at + 1] ~= '' do
  local jobs = tonumber(ARGV[at + 2])
  local slots = redis.call('HMGET', slots_key(ARGV[at + 1]), unpack(ARGV, at + 3, at + 2 + jobs))
  at = append_section(at, function(index, _, fence) return check_run(slots[index], fence) end)
  sections = sections - 1
end

-- most steps end no job: they do not need the functions that follow, nor the clock
if at == #ARGV and #lost == 0 then
  publish_collected()
  return { stopped, {} }
end
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
caller_incarnation = args.incarnation
local LOG_LOST = { code = 'log_lost', message = 'a part of the output was lost' }
local jobs, changed = {}, {}
local function job_of(id)
  jobs[id] = jobs[id] or read_job(id)
  return jobs[id]
end

-- the events of the jobs that end: their hashes are read anyway
if sections > 0 then
  at = append_section(at, function(_, id, fence)
    local job = job_of(id)
    if job.status ~= 'running' or job.fence ~= fence then return nil, 'fenced' end
    if job.cancel == '1' then return nil, 'cancel' end
    return job.subscribers or ''
  end, function(id, last) job_of(id).last = last end)
end

for _, id in ipairs(lost) do
  local job = job_of(id)
  changed[job.model] = true
  finish(id, 'failed', LOG_LOST, job)
end

for first = at + 1, #ARGV, END_FIELDS do
  local id, fence, status, finish_reason, code, message, usage, tokens, retry, last, log_bytes, first_ms, stop,
    work = unpack(ARGV, first, first + END_FIELDS - 1)
  local job = job_of(id)
  if job.status == 'running' and job.fence == fence then
    changed[job.model] = true
    job.last = job.last or log_length(id)
    log_bytes, first_ms = tonumber(log_bytes), tonumber(first_ms)
    local is_incomplete = job.last < (tonumber(last) or 0)
    if is_incomplete and job.cancel == '1' then -- its latest events were refused
      finish(id, 'cancelled', { code = 'cancelled', tokens = tonumber(tokens), work = tonumber(work), usage = usage,
        log_bytes = log_bytes, first_ms = first_ms }, job)
    elseif is_incomplete then
      finish(id, 'failed', LOG_LOST, job)
    elseif retry == '1' and job.cancel ~= '1' then
      requeue_or_fail(id, code, message, job)
    else
      if job.cancel == '1' and status == 'failed' then status, code = 'cancelled', 'cancelled' end
      finish(id, status, { finish_reason = finish_reason, code = code, message = message, usage = usage,
        tokens = tonumber(tokens), work = tonumber(work), log_bytes = log_bytes, first_ms = first_ms, stop_sequence = stop }, job)
    end
  end
end

for model in pairs(changed) do dispatch(model) end
publish_collected()
return { stopped, claims }
