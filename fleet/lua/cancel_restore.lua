#!lua flags=allow-oom
-- Cancel a load that restores replicas of a loaded model. The model stays loaded; the workers kill the engines that
-- start, which are no replicas of it any more. If the others were lost meanwhile, the model fails, as it does when its
-- last replica is lost.
-- KEYS[1] prefix
-- args: model operation authorization
--   authorization: JSON, see governance/authorize
-- returns {ok, replica, worker, ...} | {refused, reason} because of its authorization
--         | {over} when the load has ended, or restores nothing
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
local model, operation, authorization = args.model, args.operation, cjson.decode(args.authorization)
local state, latest_operation = read_fields(model_key(model), 'state', 'operation')
local ended = redis.call('HEXISTS', P .. 'operation:' .. operation, 'finished_us') == 1
if state ~= 'loaded' or latest_operation ~= operation or ended then return { 'over' } end
local problem = authorization_problem(authorization, operation)
if problem then return problem end
use_authorization(authorization, operation)
local answer = { 'ok' }
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
  local replica_state, worker, began_by = read_fields(replica_key(replica), 'state', 'worker', 'operation')
  if began_by == operation and replica_state ~= 'up' then
    delete_replica(replica)
    answer[#answer + 1] = replica
    answer[#answer + 1] = worker
  end
end
local cancellation = { code = 'load_cancelled', message = 'the load was cancelled' }
end_operation(operation, 'cancelled', cancellation, authorization.audit)
if count_staying(model) == 0 then
  local code, message, restart_us = read_fields(model_key(model), 'code', 'last_error', 'restart_us')
  fail_model(model, code or 'load_cancelled', message or 'the load was cancelled')
  if restart_us then redis.call('HSET', model_key(model), 'restart_us', restart_us) end
  fail_unserved_jobs(model, code or 'load_cancelled')
end
return answer
