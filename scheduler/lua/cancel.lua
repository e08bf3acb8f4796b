#!lua flags=allow-oom
-- Cancel a waiting job, or ask the worker that runs it to stop. Does nothing to a job that has ended.
-- KEYS[1] prefix
-- args: id tenant disconnected
--   disconnected: 1: because its client is gone, for which a detached job goes on; else 0
-- returns the status after the call, or nil when the tenant has no such job
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/cancel_job
local id = args.id
local job = read_job(id)
if not job.status or job.tenant ~= args.tenant then return nil end
if args.disconnected == '1' and redis.call('HEXISTS', job_key(id), 'detached') == 1 then return job.status end
cancel_job(id, job)
return job.status
