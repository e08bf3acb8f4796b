#!lua flags=allow-oom
-- Begin to unload: loaded, loading, failed -> unloading. From now on no job is admitted or dispatched; waiting jobs
-- fail, and running jobs may finish; the workers stop the engines when their slots are empty. A load under way is
-- cancelled: its operation ends, and the workers kill the engines that start. Without replicas the operation ends at
-- once; there is none when nobody would load the model again.
-- KEYS[1] prefix
-- args: model operation cancels enabled authorization leaves_for idle_us charges pays_return
--   cancels: which load under way may be cancelled: 'any', 'none', or the operation of the only one; with an operation
--     nothing but that load ends
--   enabled: '1' when the configuration loads the model; authorization: JSON, see governance/authorize
--   leaves_for: the model that it makes room for, or '': then waiting jobs stay queued for its next load, running ones end
--     in their own time, and charges are those of that model: {tenant: ms of switching for its weight} (JSON)
--   pays_return: 1 when they include this model's next load, else 0
--   idle_us: for how long no request has run or waited, else nothing is done (0: none does now); or ''
-- returns {ok, replica, worker, ...} | {state, state, operation} | {refused, reason} because of its authorization
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
-- include: fleet/switch_account
local model, operation, cancels = args.model, args.operation, args.cancels
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local stored_state, latest_operation, wanted = read_fields(model_key(model), 'state', 'operation', 'wanted')
local state = stored_state or 'unloaded'
local loading = state == 'loading'
local allowed = cancels == 'any' or cancels == (loading and latest_operation or 'none')
if state == 'unloading' or not allowed then return { 'state', state, latest_operation or '' } end
local waits = redis.call('EXISTS', P .. 'waiting:' .. model) == 1
local leaves = args.leaves_for ~= ''
if leaves or args.idle_us ~= '' then -- decided by what was read a moment ago
  local running, idle_us = read_fields(P .. 'served:' .. model, '@running', '@idle_us')
  local loaded_us = redis.call('HGET', model_key(model), 'loaded_us')
  local in_use = waits or (tonumber(running) or 0) > 0
  local since = math.max(tonumber(idle_us) or 0, tonumber(loaded_us) or 0)
  local is_idle = args.idle_us == '' or (not in_use and NOW - since >= tonumber(args.idle_us))
  local status = latest_operation and redis.call('HGET', P .. 'operation:' .. latest_operation, 'status')
  local restores = not loading and (status == 'pending' or status == 'running')
  if (state ~= 'loaded' and not loading) or not is_idle or restores then
    return { 'state', state, latest_operation or '' }
  end
  if leaves then
    charge_switch(args.charges)
    redis.call('HSET', model_key(model), 'leaves_for', args.leaves_for, 'return_paid', args.pays_return)
    if waits then redis.call('ZADD', P .. 'demand', 'NX', text(NOW), model) end
  end
else
  redis.call('ZREM', P .. 'demand', model)
  redis.call('HDEL', model_key(model), 'leaves_for')
  forget_crashes(model)
end
redis.call('HSET', model_key(model), 'wanted', '0')
local answer, memory = { 'ok' }, 0
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
  local replica_state, worker, replica_mib = read_fields(replica_key(replica), 'state', 'worker', 'memory_mib')
  if replica_state == 'assigned' then
    delete_replica(replica) -- its worker has not begun to start it: there is no engine
  else
    redis.call('HSET', replica_key(replica), 'state', 'stopping', 'progress', '0')
    if leaves then redis.call('HSET', replica_key(replica), 'drains_fully', '1') end
    answer[#answer + 1] = replica
    answer[#answer + 1] = worker
    memory = memory and replica_mib and replica_mib ~= '' and memory + tonumber(replica_mib)
  end
end
local count = (#answer - 1) / 2
-- the load under way, also one that restores replicas of a loaded model
local cancellation = { code = 'load_cancelled', message = 'the load was cancelled' }
if latest_operation then end_operation(latest_operation, 'cancelled', cancellation, authorization.audit) end
if state == 'unloaded' and (wanted or args.enabled) == '0' then
  fail_waiting_jobs(model, 'model_unloading', 'the model is being unloaded')
  remove_dynamic_model(model)
  return { 'state', 'unloaded', latest_operation or '' }
end
use_authorization(authorization, operation)
local stage = loading and 'cancelling the load' or leaves and 'making room for ' .. args.leaves_for or 'draining'
begin_operation(operation, 'unload', model, 'running', stage, count,
  authorization)
redis.call('HSET', P .. 'operation:' .. operation, 'gpu_memory_mib', '0')
if loading or count == 0 then
  redis.call('HDEL', P .. 'operation:' .. operation, 'expected_ms') -- the durations of unloads say nothing about it
else
  redis.call('HSET', P .. 'operation:' .. operation, 'began_us', text(NOW))
end
if state == 'unloaded' then remove_dynamic_model(model)
else set_model_state(model, count == 0 and 'unloaded' or 'unloading') end
redis.call('DEL', P .. 'ready:' .. model)
redis.call('DEL', P .. 'prefixes:' .. model)
if not leaves then fail_waiting_jobs(model, 'model_unloading', 'the model is being unloaded') end
if memory and not loading and count > 0 then
  redis.call('HSET', P .. 'operation:' .. operation, 'memory_mib', text(memory))
end
if state == 'failed' then redis.call('HDEL', model_key(model), 'last_error', 'code') end -- the failure is dismissed
if count == 0 then end_operation(operation, 'completed') end
return answer
