#!lua flags=allow-oom
-- Forget the stream of a conversation, and cancel its job if that has not ended.
-- KEYS[1] prefix
-- args: tenant resume_hash resume_models resume_id
-- returns the status of the job before, or nil when the tenant has no such stream
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/cancel_job
local id = redis.call('GETDEL', resumable_key(args.tenant, args.resume_hash))
if not id then return nil end
if args.resume_models ~= '-' then
  redis.call('SREM', P .. 'resumable_models:' .. args.tenant .. ':' .. args.resume_models, args.resume_id)
end
redis.call('HDEL', job_key(id), 'resumable')
local job = read_job(id)
cancel_job(id, job)
return job.status or nil
