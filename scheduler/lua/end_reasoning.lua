#!lua flags=allow-oom
-- Tell the worker of a running job to end its reasoning. The message is not repeated: the client may repeat it.
-- KEYS[1] prefix
-- args: id tenant
-- returns 1 when a worker got the message, else 0: the tenant has no such job, it does not run, or its worker is away
-- include: store/base
local status, tenant, worker = read_fields(job_key(args.id), 'status', 'tenant', 'worker')
if tenant ~= args.tenant or status ~= 'running' then return 0 end
return math.min(1, redis.call('PUBLISH', P .. 'notify:' .. worker, 'end_reasoning ' .. args.id))
