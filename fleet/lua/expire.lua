#!lua flags=allow-oom
-- End jobs past their deadline or lease, loads that waited too long, and workers without a heartbeat; delete ended
-- jobs after their retention; continue unfinished work; count ended jobs. Every process runs it about every half
-- second; each step is idempotent, so no leader is needed. One call ends or deletes about 100 jobs, and counts 250.
-- Called as a function of Redis (store/function_library.py).
-- KEYS[1] prefix
-- args: max_gap_us lease_us interval_us history_s history_requests history_bytes
--   max_gap_us: the gap between two runs after which all leases are extended by lease_us
--   interval_us: do nothing if the last run was less than this ago
--   history_s, history_requests, history_bytes: the bounds of the history of requests
-- returns {how many jobs, loads and workers it ended, 1 when more is to be done at once, else 0};
--         {-1, 0} when it extended all leases, {0, 0} because of interval_us
-- include: store/base
local last_run = tonumber(redis.call('GET', P .. 'expired_at'))
if last_run and NOW >= last_run and NOW - last_run < tonumber(args.interval_us) then return { 0, 0 } end
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
-- include: store/counters
-- include: store/histograms
-- include: scheduler/job_end

-- The workers that were removed for their silence, for operators: the latest MAX_LOST of them.
local function list_lost_worker(worker)
  local MAX_LOST = 100
  redis.call('ZADD', P .. 'lost_workers', text(NOW), worker)
  redis.call('ZREMRANGEBYRANK', P .. 'lost_workers', 0, -MAX_LOST - 1)
end

-- If no process ran this script for so long, Redis was down (or all processes were), and no worker could
-- renew its leases: downtime of Redis must not count against them. No lease ends before `leases_extended_to`.
redis.call('SET', P .. 'expired_at', text(NOW))
if last_run and NOW - last_run > tonumber(args.max_gap_us) then
  redis.call('SET', P .. 'leases_extended_to', text(NOW + tonumber(args.lease_us)))
  add_to_counter('lease_extensions')
  return { -1, 0 }
end

local function due(set)
  if jobs_left <= 0 then return {} end
  return redis.call('ZRANGE', P .. set, '-inf', text(NOW), 'BYSCORE', 'LIMIT', 0, jobs_left)
end
local ended, changed = 0, {}
-- Count a job that was ended or requeued; model: what that function returned.
local function count(model)
  jobs_left = jobs_left - 1
  if model then changed[model] = true; ended = ended + 1 end
end

local leases_count = NOW >= (tonumber(redis.call('GET', P .. 'leases_extended_to')) or 0)
for _, worker in ipairs(leases_count and due('workers') or {}) do
  if jobs_left <= 0 then break end
  remove_worker(worker, 'worker ' .. worker .. ' sent no heartbeat and was removed')
  list_lost_worker(worker)
  add_to_counter('expired worker')
  jobs_left = jobs_left - 1
  ended = ended + 1
end

for _, model in ipairs(due('evicting')) do
  end_waiting_load(model, 'load_timeout', 'the model to unload first was not unloaded in time')
  add_to_counter('expired load')
  ended = ended + 1
end

for _, id in ipairs(leases_count and due('leases') or {}) do
  count(requeue_or_fail(id, 'worker_lost', 'the worker that ran this request sent no heartbeat'))
  redis.call('ZREM', P .. 'leases', id)
  add_to_counter('expired lease')
end

-- The deadline of a job has come: the end of its retention, of its run, or of its wait.
do -- a script may have 200 local names at a time
  local function end_overdue(id)
    local STOP_US = 5 * 1000000 -- so long a worker has to end a run whose time is over, and to report what it has used
    local status, cancel, tenant, bytes, run_by_us, stream, late =
      read_fields(job_key(id), 'status', 'cancel', 'tenant', 'bytes', 'run_by_us', 'resumable', 'late')
    if not status or TERMINAL[status] then -- the end of its retention
      delete_job(id, tenant or '', bytes, stream)
      jobs_left = jobs_left - 1
    elseif status == 'running' and not late then
      -- its worker ends it and reports what it has used: else the tokens up to a client's own time limit would be free
      if cancel ~= '1' then ask_to_stop(id, read_job(id)) end
      redis.call('HSET', job_key(id), 'late', cancel == '1' and '0' or '1')
      redis.call('ZADD', P .. 'deadlines', text(NOW + STOP_US), id)
      add_to_counter('expired deadline')
      jobs_left = jobs_left - 1
    elseif status == 'running' then -- its worker has not ended it
      count(finish(id, 'cancelled', { code = 'cancelled' }))
    else
      local is_over = run_by_us and tonumber(run_by_us) <= NOW
      count(finish(id, 'failed', { code = is_over and 'deadline_exceeded' or 'queue_timeout' }))
      add_to_counter('expired deadline')
    end
  end
  for _, id in ipairs(due('deadlines')) do end_overdue(id) end
end

-- Work that earlier calls began; what is still left is recorded again, behind the others.
local function continue_record(record)
  redis.call('ZREM', P .. 'unfinished', record)
  local kind, name, code, message = unpack(cjson.decode(record))
  local before = jobs_left
  if kind == 'slots' then
    local model = end_jobs_of_replica(name, code, message)
    if model then changed[model] = true end
  elseif kind == 'dispatch' then changed[name] = true
  elseif kind == 'cancel' then cancel_waiting_jobs(name, code, message)
  elseif not will_be_served(name) then fail_waiting_jobs(name, code, message) end
  ended = ended + before - jobs_left
  jobs_left = jobs_left - 1
end
for _, record in ipairs(redis.call('ZRANGE', P .. 'unfinished', 0, MAX_JOBS - 1)) do
  if jobs_left <= 0 then break end
  continue_record(record)
end

-- their delayed jobs have waited long enough
for _, model in ipairs(due('delays')) do
  redis.call('ZREM', P .. 'delays', model)
  changed[model] = true
  jobs_left = jobs_left - 1
end

for model in pairs(changed) do dispatch(model) end
local is_left = count_ended_jobs({ seconds = args.history_s, requests = args.history_requests, bytes = args.history_bytes })
return { ended, (is_left or jobs_left <= 0 or redis.call('EXISTS', P .. 'unfinished') == 1) and 1 or 0 }
