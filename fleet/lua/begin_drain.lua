#!lua flags=allow-oom
-- An operator drains a worker: no job is dispatched to it and no replica assigned, until the drain is ended, also
-- after a restart of the worker. Its running jobs finish, and other replicas serve those that wait.
-- KEYS[1] prefix
-- args: worker by max_drains
--   by: who asks for it (JSON: actor, authority, ...); max_drains: most workers that are drained at a time
-- returns ok | unchanged (it is drained already) | unknown (no such worker is registered) | full because of max_drains
-- include: store/base
-- include: governance/audit
-- include: fleet/drain
local worker = args.worker
if redis.call('HEXISTS', P .. 'operator_drains', worker) == 1 then return 'unchanged' end
local incarnation, draining = read_fields(worker_key(worker), 'incarnation', 'draining')
if not incarnation then return 'unknown' end
if redis.call('HLEN', P .. 'operator_drains') >= tonumber(args.max_drains) then return 'full' end
local by = cjson.decode(args.by)
redis.call('HSET', P .. 'operator_drains', worker, cjson.encode({ actor = by.actor, at_us = text(NOW) }))
if not draining then drain_worker(worker, 'operator') end -- one that shuts down accepts no jobs already
append_audit(by, 'drain', worker, 'done')
return 'ok'
