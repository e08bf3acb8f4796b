#!lua flags=allow-oom
-- Cancel a waiting job, or ask the worker that runs it to stop. Does nothing to a job that has ended.
-- KEYS[1] prefix
-- args: id tenant
-- returns the status after the call, or nil when the tenant has no such job
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
local id = args.id
local job = read_job(id)
if not job.status or job.tenant ~= args.tenant then return nil end
if job.status == 'queued' then finish(id, 'cancelled', { code = 'cancelled' }, job)
elseif job.status == 'running' then ask_to_stop(id, job) end
return job.status
