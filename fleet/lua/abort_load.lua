#!lua flags=allow-oom
-- Abort a load that waits for the unload of another model: loading -> failed.
-- KEYS[1] prefix
-- args: model operation code message
-- returns ok | over when the load has ended or continues already
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
local waits = redis.call('ZSCORE', P .. 'evicting', args.model)
if not waits or redis.call('HGET', model_key(args.model), 'operation') ~= args.operation then return 'over' end
end_waiting_load(args.model, args.code, args.message)
return 'ok'
