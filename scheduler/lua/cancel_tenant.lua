#!lua flags=allow-oom
-- Cancel the jobs of a tenant that wait for a model, and ask those that run to stop. One call cancels about 100 waiting
-- jobs; `expire` continues with those that were admitted before this call.
-- KEYS[1] prefix
-- args: tenant model running
--   running: 0|1: the running jobs, too
-- returns {waiting jobs that were cancelled, those that are left, running jobs that were asked to stop}
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
local tenant, model, stopping = args.tenant, args.model, 0
local left = cancel_waiting_jobs(model, tenant, text(NOW))
if args.running == '1' then
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
