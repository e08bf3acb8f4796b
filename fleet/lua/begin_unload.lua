#!lua flags=allow-oom
-- Begin to unload: loaded -> unloading. From now on no job is admitted or dispatched; waiting jobs fail, and
-- running jobs may finish; the workers stop the engines when their slots are empty.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation
-- returns {ok, replica, worker, ...} | {state, state, operation}
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
-- include: unfinished
-- include: model
-- include: replica
local model, operation = ARGV[2], ARGV[3]
local stored_state, latest_operation = read_fields(model_key(model), 'state', 'operation')
local state = stored_state or 'unloaded'
local replicas = redis.call('SMEMBERS', P .. 'replicas:' .. model)
-- a load that waits for the unload of another model can be cancelled: it has no replicas yet
local waiting = state == 'loading' and redis.call('ZSCORE', P .. 'evicting', model)
if state == 'unloading' or (state == 'loading' and not waiting) then
  return { 'state', state, latest_operation or '' }
end
redis.call('HSET', model_key(model), 'wanted', '0')
if #replicas == 0 then
  if waiting then
    local failure = { code = 'load_cancelled', message = 'unloaded before memory was free' }
    end_operation(latest_operation, 'failed', failure)
  end
  if state ~= 'unloaded' then set_model_state(model, 'unloaded') end
  fail_waiting_jobs(model, 'model_unloading', 'the model is being unloaded')
  return { 'state', 'unloaded', latest_operation or '' }
end
-- a load that restores replicas of a loaded model
local cancellation = { code = 'load_cancelled', message = 'the model was unloaded' }
if latest_operation then end_operation(latest_operation, 'failed', cancellation) end
begin_operation(operation, 'unload', model, 'running', 'draining', #replicas)
redis.call('HSET', P .. 'operation:' .. operation, 'began_us', text(NOW))
set_model_state(model, 'unloading')
redis.call('DEL', P .. 'ready:' .. model)
fail_waiting_jobs(model, 'model_unloading', 'the model is being unloaded')
local answer, memory = { 'ok' }, 0
for _, replica in ipairs(replicas) do
  local worker, replica_mib = read_fields(replica_key(replica), 'worker', 'memory_mib')
  redis.call('HSET', replica_key(replica), 'state', 'stopping', 'progress', '0')
  answer[#answer + 1] = replica
  answer[#answer + 1] = worker
  memory = memory and replica_mib and replica_mib ~= '' and memory + tonumber(replica_mib)
end
if memory then redis.call('HSET', P .. 'operation:' .. operation, 'memory_mib', text(memory)) end
return answer
