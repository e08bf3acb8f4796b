-- Continue a load that waited for the unload of another model: assign its replicas to workers.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 lease (us)  5 memory of one replica (MiB) or ''  6.. pairs: replica, worker
-- returns {ok} | {over} when the load has ended or continues already | {gone, worker} | {short, worker}, see
--         include/assign
-- include: store/base
-- include: fleet/placement
local model, operation = ARGV[2], ARGV[3]
local waits = redis.call('ZSCORE', P .. 'evicting', model)
if not waits or redis.call('HGET', model_key(model), 'operation') ~= operation then return { 'over' } end
local conflict = placement_error(6, ARGV[5], model)
if conflict then return conflict end
redis.call('ZREM', P .. 'evicting', model)
assign_replicas(model, operation, 6, ARGV[5], ARGV[4])
return { 'ok' }
