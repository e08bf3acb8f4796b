-- Replace replicas of a loaded model that were lost with their workers; the remaining replicas serve meanwhile.
-- KEYS[1] prefix
-- ARGV    2 model  3 lease (us)  4 memory of one replica (MiB) or ''  5.. pairs: replica, worker
-- returns {ok} | {over} when fewer replicas are lost | {gone, worker} | {short, worker}, see include/assign
-- include: base
-- include: assign
local model, count = ARGV[2], (#ARGV - 4) / 2
local state, lost = read_fields(model_key(model), 'state', 'lost')
-- the call is repeated when its answer was lost
if redis.call('EXISTS', replica_key(ARGV[5])) == 1 then return { 'ok' } end
if state ~= 'loaded' or (tonumber(lost) or 0) < count then return { 'over' } end
local conflict = placement_error(5, ARGV[4], model)
if conflict then return conflict end
redis.call('HINCRBY', model_key(model), 'lost', -count)
assign_replicas(model, '', 5, ARGV[4], ARGV[3])
return { 'ok' }
