#!lua flags=allow-oom
-- Fail the jobs that wait for a model that cannot be loaded for them, and pause its loads on demand.
-- KEYS[1] prefix
-- args: model code message
--   message: why, for operators
-- returns ok | over when the model is not unloaded or failed, or nobody waits for its load
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
local state = redis.call('HGET', model_key(args.model), 'state') or 'unloaded'
local wanted = redis.call('ZSCORE', P .. 'demand', args.model)
if not wanted or (state ~= 'unloaded' and state ~= 'failed') then return 'over' end
pause_demand(args.model)
redis.call('HSET', model_key(args.model), 'last_error', args.message, 'code', args.code)
fail_unserved_jobs(args.model, args.code)
return 'ok'
