-- Continue a load that waited for the unload of another model: assign its replicas to workers.
-- KEYS[1] prefix
-- args: model operation lease_us need_mib places..
--   need_mib: memory of one replica, or ''; places: pairs: replica, worker
-- returns {ok} | {over} when the load has ended or continues already | {gone, worker} | {short, worker}, see
--         fleet/placement
-- include: store/base
-- include: fleet/placement
local model, operation = args.model, args.operation
local waits = redis.call('ZSCORE', P .. 'evicting', model)
if not waits or redis.call('HGET', model_key(model), 'operation') ~= operation then return { 'over' } end
local conflict = placement_error(first.places, args.need_mib, model)
if conflict then return conflict end
redis.call('ZREM', P .. 'evicting', model)
assign_replicas(model, operation, first.places, args.need_mib, args.lease_us)
return { 'ok' }
