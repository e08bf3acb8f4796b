-- Begin to load a model: unloaded|failed -> loading, with one row per replica for its worker to find; or, when
-- another model has to be unloaded first, with none yet.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 replicas wanted  5 lease (us)  6 override (JSON)
--         7 memory of one replica (MiB) or ''  8 fingerprint of what is loaded
--         9 the model to be unloaded first or ''  10 how long that may take (us)
--         11 what it is promised until then: {memory: MiB} (JSON) or ''
--         12 '1': only if no operator unloaded it since  13.. pairs: replica, worker (none with 9)
-- returns {ok} | {over} by 12 | {state, state, operation, replicas wanted, override} when the model is in a
--         state that does not allow it | {gone, worker} | {short, worker}, see include/assign
-- include: base
-- include: model
-- include: assign
local model, operation = ARGV[2], ARGV[3]
local row = redis.call('HMGET', model_key(model), 'state', 'operation', 'wanted', 'override')
local state = row[1] or 'unloaded'
local function refused(by) return { 'state', by, row[2] or '', row[3] or '', row[4] or '{}' } end
-- replicas of a failed load may still be on their way out
local leaving = redis.call('SCARD', P .. 'replicas:' .. model)
if (state ~= 'unloaded' and state ~= 'failed') then return refused(state) end
if leaving > 0 then return refused('unloading') end
if ARGV[12] == '1' and row[3] == '0' then return { 'over' } end
local trouble = placement_error(13, ARGV[7], model)
if trouble then return trouble end
redis.call('HSET', model_key(model), 'wanted', ARGV[4], 'replicas', ARGV[4],
  'override', ARGV[6], 'variant', ARGV[8])
redis.call('HDEL', model_key(model), 'last_error', 'code', 'lost')
begin_operation(operation, 'load', model, 'pending', 'waiting for a worker', ARGV[4])
set_model_state(model, 'loading')
if ARGV[9] == '' then
  assign_replicas(model, operation, 13, ARGV[7], ARGV[5])
else
  redis.call('HSET', model_key(model), 'reserved', ARGV[11])
  redis.call('HSET', P .. 'operation:' .. operation, 'evicts', ARGV[9], 'stage', 'unloading ' .. ARGV[9])
  redis.call('ZADD', P .. 'evicting', text(NOW + tonumber(ARGV[10])), model)
end
return { 'ok' }
