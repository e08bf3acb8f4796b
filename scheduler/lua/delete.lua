#!lua flags=allow-oom
-- Delete a stored response. A job that has not ended is cancelled, and expires 60 s after its end.
-- KEYS[1] prefix
-- args: id tenant
-- returns 1, or 0 when the tenant has no such stored response
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/cancel_job
local id = args.id
local job = read_job(id)
if not job.status or job.tenant ~= args.tenant or job.store ~= '1' then return 0 end
if TERMINAL[job.status] then
  delete_job(id, job.tenant, job.bytes, job.resumable)
  return 1
end
redis.call('HSET', job_key(id), 'store', '0', 'retention_s', '60')
job.store, job.retention_s = '0', '60'
cancel_job(id, job)
return 1
