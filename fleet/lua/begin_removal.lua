#!lua flags=allow-oom
-- Remove a registered model that is not loaded, at once; the workers then delete what the platform has downloaded for
-- it. Without workers the operation ends at once.
-- KEYS[1] prefix
-- args: model operation work authorization workers..
--   work: JSON, see fleet/file_work.py; authorization: JSON, see governance/authorize; workers: those that run
-- returns {ok} | {refused, reason} because of its authorization | {unknown} when it is not registered
--         | {state, state} when it is loaded | {busy, operation} of its files
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/replica
-- include: fleet/registration
local model, operation, authorization = args.model, args.operation, cjson.decode(args.authorization)
local problem = authorization_problem(authorization, operation)
if problem then return problem end
if redis.call('EXISTS', P .. 'operation:' .. operation) == 1 then return { 'ok' } end -- a repeated call
if redis.call('SISMEMBER', P .. 'registered_models', model) == 0 then return { 'unknown' } end
local open = redis.call('HGET', P .. 'file_operations', model)
if open then return { 'busy', open } end
local rests, state = is_at_rest(model)
if not rests then return { 'state', state } end
local count = #ARGV - first.workers + 1
use_authorization(authorization, operation)
begin_operation(operation, 'remove', model, 'running', 'deleting its files', count, authorization)
redis.call('HSET', P .. 'operation:' .. operation, 'entries', '0', 'deleted_bytes', '0')
redis.call('HSET', P .. 'file_operations', model, operation)
for at = first.workers, #ARGV do give_file_work(operation, ARGV[at], args.work) end
redis.call('ZREM', P .. 'demand', model)
fail_waiting_jobs(model, 'model_unloading', 'the model was removed')
unregister_model(model, operation)
if count == 0 then end_file_operation(operation, 'completed') end
return { 'ok' }
