#!lua flags=allow-oom
-- Write what one step of a worker's engines produced: the events of any number of jobs, then the ends of jobs.
-- Each freed slot is given to the next job in the same call. Every group of events and every end carries the
-- fence of its claim, so a worker that lost the job changes nothing. Events that are in the log already (a
-- repeated call) are skipped. Events after a gap, and an end without all events before it, end the job as
-- failed: Redis has lost data.
-- KEYS[1] prefix
-- ARGV    2 incarnation  3 largest log (bytes)  4 number of groups of events
--         5.. groups: id, fence, number of the first event, count, the events
--         then ends: id, fence, status, finish_reason, code, message, usage (JSON) or '', tokens or '',
--         '1' when the job may be queued again if its log is empty, number of the run's last event or ''
-- returns {{id, reason, ...} of the jobs whose run must stop (reason: fenced | cancel | full | log_lost),
--         {claim message, ...} of this worker's next jobs}
-- include: base
-- include: log
local END_FIELDS = 10
local max_log_bytes, groups = tonumber(ARGV[3]), tonumber(ARGV[4])
collect_copies()

local first_end = 5
for _ = 1, groups do first_end = first_end + 4 + tonumber(ARGV[first_end + 3]) end
local ends = {}
for at = first_end, #ARGV, END_FIELDS do ends[ARGV[at]] = true end

-- the jobs of this step: each is read once, and written once
local jobs, appended, stopped, lost = {}, {}, {}, {}
local function job_of(id)
  local job = jobs[id]
  if job then return job end
  if ends[id] then
    job = read_job(id)
  else
    local status, fence, cancel, last, bytes, subscribers =
      read_fields(job_key(id), 'status', 'fence', 'cancel', 'last', 'bytes', 'subscribers')
    job = { status = status, fence = fence, cancel = cancel, last = last, bytes = bytes,
      subscribers = subscribers }
  end
  jobs[id] = job
  return job
end

-- Append the events ARGV[first..first + count - 1], the first of which has this number.
local function append(id, job, number, count, first)
  local last, bytes, lines = tonumber(job.last), tonumber(job.bytes), {}
  for offset = math.max(0, last + 1 - number), count - 1 do
    local event = ARGV[first + offset]
    last, bytes = number + offset, bytes + #event
    append_event(id, last, event)
    lines[#lines + 1] = id .. ' ' .. text(last) .. ' ' .. event
  end
  if #lines == 0 then return end
  job.last, job.bytes = text(last), text(bytes)
  appended[id] = job
  publish(job.subscribers, table.concat(lines, '\n'))
end

local at = 5
for _ = 1, groups do
  local id, fence, number, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local job, reason = job_of(id), nil
  if job.status ~= 'running' or job.fence ~= fence then
    reason = 'fenced'
  elseif job.cancel == '1' then
    reason = 'cancel'
  elseif number > tonumber(job.last) + 1 then
    reason, job.status = 'log_lost', 'lost'
    lost[#lost + 1] = id
  else
    append(id, job, number, count, at + 4)
    if tonumber(job.bytes) > max_log_bytes then reason = 'full' end
  end
  if reason then stopped[#stopped + 1] = id; stopped[#stopped + 1] = reason end
  at = at + 4 + count
end

-- Write the new lengths of the logs; `finish` has written those of the jobs that have ended.
local function write_lengths()
  for id, job in pairs(appended) do
    if job.status == 'running' then redis.call('HSET', job_key(id), 'last', job.last, 'bytes', job.bytes) end
  end
end

-- most steps end no job: they do not need the functions that follow
if not next(ends) and #lost == 0 then
  write_lengths()
  publish_collected()
  return { stopped, {} }
end
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
caller_incarnation = ARGV[2]
local LOG_LOST = { code = 'log_lost', message = 'a part of the output was lost' }
local changed = {}

for _, id in ipairs(lost) do
  local job = read_job(id)
  job.last = jobs[id].last
  changed[job.model] = true
  finish(id, 'failed', LOG_LOST, job)
end

for first = first_end, #ARGV, END_FIELDS do
  local id, fence, status, finish_reason, code, message, usage, tokens, retry, last =
    unpack(ARGV, first, first + END_FIELDS - 1)
  local job = job_of(id)
  if job.status == 'running' and job.fence == fence then
    changed[job.model] = true
    local is_incomplete = tonumber(job.last) < (tonumber(last) or 0)
    if is_incomplete and job.cancel == '1' then -- its latest events were refused
      finish(id, 'cancelled', { code = 'cancelled', tokens = tonumber(tokens), usage = usage }, job)
    elseif is_incomplete then
      finish(id, 'failed', LOG_LOST, job)
    elseif retry == '1' and job.cancel ~= '1' then
      requeue_or_fail(id, code, message, job)
    else
      if job.cancel == '1' and status == 'failed' then status, code = 'cancelled', 'cancelled' end
      finish(id, status, { finish_reason = finish_reason, code = code, message = message, usage = usage,
        tokens = tonumber(tokens) }, job)
    end
  end
end

write_lengths()
for model in pairs(changed) do dispatch(model) end
publish_collected()
return { stopped, claims }
