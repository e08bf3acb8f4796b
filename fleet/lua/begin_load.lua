-- Begin to load a model: unloaded|failed -> loading. Each replica is assigned to a worker, except when another
-- model has to be unloaded first: then resume_pending assigns them.
-- KEYS[1] prefix
-- args: model operation replicas lease_us override need_mib variant evicts evict_us reserved
-- args: automatic authorization dynamic_model max_dynamic_models files_mib files_shape last_load charges places..
--   replicas: how many are wanted; override: JSON; need_mib: memory of one replica, or ''
--   variant: fingerprint of the model with these options
--   evicts: model to unload first, or ''; evict_us: time limit of that unload
--   reserved: memory to reserve until then: {memory id: MiB} (JSON), or ''
--   automatic: '1': only if no operator has unloaded the model since, and not before a restart is due
--   authorization: JSON, see governance/authorize
--   dynamic_model: definition of a model that is not configured (JSON), or ''; max_dynamic_models: most of these
--   files_mib, files_shape: size and shape (JSON, or '') of its files
--   last_load: what was asked for (JSON), or ''
--   charges: of a load for waiting requests: {tenant: ms of switching for its weight} (JSON), '' of any other: only if
--     requests wait, and neither a restart nor the pause after a failure is due
--   places: pairs: replica, worker; none with `evicts`
-- returns {ok} | {refused, reason} because of its authorization | {over} because it is automatic, or for requests
--         | {full} because of max_dynamic_models | {registered} when the model of `dynamic_model` is registered
--         | {state, state, operation, replicas wanted, override} when the model's
--         state does not allow a load | {gone, worker} | {short, worker}, see fleet/placement
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/placement
-- include: fleet/switch_account
local model, operation, authorization = args.model, args.operation, cjson.decode(args.authorization)
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local stored_state, latest_operation, wanted, stored_override, restart_us, retry_us =
  read_fields(model_key(model), 'state', 'operation', 'wanted', 'override', 'restart_us', 'load_retry_us')
local on_demand = args.charges ~= ''
local state = stored_state or 'unloaded'
local function refused(current)
  return { 'state', current, latest_operation or '', wanted or '', stored_override or '{}' }
end
-- replicas of a failed load may still be stopping
local stopping = redis.call('SCARD', P .. 'replicas:' .. model)
if state ~= 'unloaded' and state ~= 'failed' then return refused(state) end
if stopping > 0 then return refused('unloading') end
if args.automatic == '1' and wanted == '0' then return { 'over' } end
if on_demand and (restart_us or NOW < (tonumber(retry_us) or 0) or redis.call('EXISTS', P .. 'waiting:' .. model) == 0) then
  return { 'over' }
end
if args.automatic == '1' and restart_us and NOW < tonumber(restart_us) then return { 'over' } end
if args.dynamic_model ~= '' and redis.call('SISMEMBER', P .. 'registered_models', model) == 1 then
  return { 'registered' }
end
if args.dynamic_model ~= '' and not may_add_dynamic_model(model, tonumber(args.max_dynamic_models)) then
  return { 'full' }
end
local conflict = placement_error(first.places, args.need_mib, model)
if conflict then return conflict end
redis.call('PERSIST', model_key(model))
redis.call('PERSIST', P .. 'served:' .. model)
if redis.call('SISMEMBER', P .. 'registered_models', model) == 0 then redis.call('HDEL', model_key(model), 'label') end
if args.dynamic_model ~= '' then
  add_dynamic_model(model, args.dynamic_model, operation)
  redis.call('HSET', model_key(model), 'artifact_mib', args.files_mib, 'shape', args.files_shape)
end
redis.call('HSET', model_key(model), 'wanted', args.replicas, 'replicas', args.replicas, 'least', args.replicas,
  'override', args.override, 'variant', args.variant)
if args.last_load ~= '' then
  redis.call('HSET', model_key(model), 'last_load', args.last_load, 'last_load_us', text(NOW))
end
redis.call('HDEL', model_key(model), 'last_error', 'code', 'lost', 'demand_note')
if on_demand then
  charge_switch(args.charges)
  redis.call('HSET', model_key(model), 'on_demand', '1')
elseif args.automatic ~= '1' then
  redis.call('HDEL', model_key(model), 'on_demand', 'load_failures', 'load_retry_us')
  forget_crashes(model)
end
if args.automatic == '1' and restart_us then add_to_counter('restarts ' .. model_label(model)) end
use_authorization(authorization, operation)
begin_operation(operation, 'load', model, 'pending', 'waiting for a worker', args.replicas, authorization)
set_model_state(model, 'loading')
if args.evicts == '' then
  assign_replicas(model, operation, first.places, args.need_mib, args.lease_us)
else
  redis.call('HSET', model_key(model), 'reserved', args.reserved)
  redis.call('HSET', P .. 'operation:' .. operation, 'evicts', args.evicts, 'stage', 'unloading ' .. args.evicts)
  redis.call('ZADD', P .. 'evicting', text(NOW + tonumber(args.evict_us)), model)
end
return { 'ok' }
