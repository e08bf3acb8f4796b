#!lua flags=no-writes,allow-oom
-- Return a page of the jobs of a model: those that run in the order of their dispatches, then those that wait in the order
-- of their admissions. Changes nothing. The commands grow with the page and the replicas, not with the queue.
-- KEYS[1] prefix
-- args: model tenant status section after most
--   tenant: '' for all; status: 'running' or 'queued', or '' for both
--   section: 'running' or 'queued': where the page before ended; '' at first
--   after: fence or admission (us) of the last job that it looked at; '0' at first
--   most: most jobs to look at
-- returns {the time (us), {row of a job (`job_row`), ...}, and where to go on: 'running' or 'queued', fence or admission
--         of the last job that was looked at; '' and '0' at the end}
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/job_row
local model, tenant, only, section, after = args.model, args.tenant, args.status, args.section, tonumber(args.after)
local rows, left = {}, tonumber(args.most)

-- Take the jobs of a list of {number, id, whether to show it} until the page is full; returns whether jobs are left.
local function take(jobs)
  for _, job in ipairs(jobs) do
    if left == 0 then return true end
    left, after = left - 1, job[1]
    if not job[3] or job[3](job[2]) then rows[#rows + 1] = job_row(job[2]) end
  end
  return false
end

local function is_of_tenant(id) return redis.call('HGET', job_key(id), 'tenant') == tenant end

local function running_jobs()
  local jobs, shown = {}, tenant ~= '' and is_of_tenant
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local flat = redis.call('HGETALL', slots_key(replica))
    for at = 1, #flat, 2 do
      local fence = tonumber(string.match(flat[at + 1], '%d+'))
      if fence > after then jobs[#jobs + 1] = { fence, flat[at], shown } end
    end
  end
  table.sort(jobs, function(a, b) return a[1] < b[1] end)
  return jobs
end

-- The next waiting jobs: one more than the page takes, if there are as many.
local function waiting_jobs()
  local keys, jobs = { P .. 'waiting:' .. model }, {}
  if tenant ~= '' then
    keys = {}
    for at, priority in ipairs(PRIORITIES) do keys[at] = queue_key(model, priority, tenant) end
  end
  for _, key in ipairs(keys) do
    local flat = redis.call('ZRANGE', key, '(' .. text(after), '+inf', 'BYSCORE', 'LIMIT', 0, left + 1, 'WITHSCORES')
    for at = 1, #flat, 2 do jobs[#jobs + 1] = { tonumber(flat[at + 1]), flat[at] } end
  end
  for _, job in ipairs(tenant ~= '' and delayed_jobs(model) or {}) do
    local admitted_us = tonumber(redis.call('ZSCORE', P .. 'waiting:' .. model, job.id) or nil)
    if job.tenant == tenant and admitted_us and admitted_us > after then jobs[#jobs + 1] = { admitted_us, job.id } end
  end
  table.sort(jobs, function(a, b) return a[1] < b[1] end)
  return jobs
end

if section ~= 'queued' and only ~= 'queued' then
  if take(running_jobs()) then return { text(NOW), rows, 'running', text(after) } end
  after = 0
end
if only ~= 'running' and take(waiting_jobs()) then return { text(NOW), rows, 'queued', text(after) } end
return { text(NOW), rows, '', '0' }
