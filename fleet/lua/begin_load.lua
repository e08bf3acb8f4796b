-- Begin to load a model: unloaded|failed -> loading. Each replica is assigned to a worker, except when another
-- model has to be unloaded first: then resume_pending assigns them.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 replicas wanted  5 lease (us)  6 override (JSON)
--         7 memory of one replica (MiB) or ''  8 fingerprint of the model with these options
--         9 model to unload first or ''  10 time limit of that unload (us)
--         11 memory to reserve until then: {memory id: MiB} (JSON) or ''
--         12 '1': only if no operator has unloaded the model since, and not before a restart is due
--         13 authorization (JSON, see include/authorize)
--         14 definition of a model that is not configured (JSON) or ''  15 most of these  16 MiB of its files
--         17 what was asked for, as the model's `last_load` (JSON), or ''  18.. pairs: replica, worker (none with 9)
-- returns {ok} | {refused, reason} because of 13 | {over} because of 12 | {full} because of 15
--         | {state, state, operation, replicas wanted, override} when the model's
--         state does not allow a load | {gone, worker} | {short, worker}, see include/assign
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/placement
local model, operation, authorization = ARGV[2], ARGV[3], cjson.decode(ARGV[13])
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local stored_state, latest_operation, wanted, stored_override, restart_us =
  read_fields(model_key(model), 'state', 'operation', 'wanted', 'override', 'restart_us')
local state = stored_state or 'unloaded'
local function refused(current)
  return { 'state', current, latest_operation or '', wanted or '', stored_override or '{}' }
end
-- replicas of a failed load may still be stopping
local stopping = redis.call('SCARD', P .. 'replicas:' .. model)
if state ~= 'unloaded' and state ~= 'failed' then return refused(state) end
if stopping > 0 then return refused('unloading') end
if ARGV[12] == '1' and wanted == '0' then return { 'over' } end
if ARGV[12] == '1' and restart_us and NOW < tonumber(restart_us) then return { 'over' } end
if ARGV[14] ~= '' and not may_add_dynamic_model(model, tonumber(ARGV[15])) then return { 'full' } end
local conflict = placement_error(18, ARGV[7], model)
if conflict then return conflict end
redis.call('PERSIST', model_key(model))
redis.call('PERSIST', P .. 'served:' .. model)
redis.call('HDEL', model_key(model), 'label')
if ARGV[14] ~= '' then
  add_dynamic_model(model, ARGV[14], operation)
  redis.call('HSET', model_key(model), 'artifact_mib', ARGV[16])
end
redis.call('HSET', model_key(model), 'wanted', ARGV[4], 'replicas', ARGV[4],
  'override', ARGV[6], 'variant', ARGV[8])
if ARGV[17] ~= '' then redis.call('HSET', model_key(model), 'last_load', ARGV[17], 'last_load_us', text(NOW)) end
redis.call('HDEL', model_key(model), 'last_error', 'code', 'lost')
if ARGV[12] ~= '1' then forget_crashes(model) end
if ARGV[12] == '1' and restart_us then add_to_counter('restarts ' .. model_label(model)) end
use_authorization(authorization, operation)
begin_operation(operation, 'load', model, 'pending', 'waiting for a worker', ARGV[4], authorization)
set_model_state(model, 'loading')
if ARGV[9] == '' then
  assign_replicas(model, operation, 18, ARGV[7], ARGV[5])
else
  redis.call('HSET', model_key(model), 'reserved', ARGV[11])
  redis.call('HSET', P .. 'operation:' .. operation, 'evicts', ARGV[9], 'stage', 'unloading ' .. ARGV[9])
  redis.call('ZADD', P .. 'evicting', text(NOW + tonumber(ARGV[10])), model)
end
return { 'ok' }
