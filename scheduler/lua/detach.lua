#!lua flags=allow-oom
-- Let a job go on when its client is gone. Does nothing to a job that has ended.
-- KEYS[1] prefix
-- args: id tenant
-- returns its status, or nil when the tenant has no such job
-- include: store/base
local status, tenant = read_fields(job_key(args.id), 'status', 'tenant')
if not status or tenant ~= args.tenant then return nil end
if not TERMINAL[status] then redis.call('HSET', job_key(args.id), 'detached', '1') end
return status
