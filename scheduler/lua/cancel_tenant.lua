#!lua flags=allow-oom
-- Cancel the jobs of a tenant that wait for a model, and ask those that run to stop. One call cancels about 100 waiting
-- jobs; `expire` continues with those that were admitted before this call.
-- KEYS[1] prefix
-- ARGV    2 tenant  3 model  4 the running ones, too: 0|1
-- returns {waiting jobs that were cancelled, those that are left, running jobs that were asked to stop}
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/terminal
-- include: scheduler/requeue
-- include: scheduler/deferred_work
local tenant, model, stopping = ARGV[2], ARGV[3], 0
local left = cancel_waiting_jobs(model, tenant, text(NOW))
if ARGV[4] == '1' then
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    for _, id in ipairs(redis.call('HKEYS', slots_key(replica))) do
      local job = read_job(id)
      if job.status == 'running' and job.tenant == tenant and job.cancel ~= '1' then
        ask_to_stop(id, job)
        stopping = stopping + 1
      end
    end
  end
end
return { MAX_JOBS - jobs_left, left, stopping }
