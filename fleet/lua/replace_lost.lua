-- Replace replicas of a loaded model that were lost with their workers; the others go on meanwhile.
-- KEYS[1] prefix
-- ARGV    2 model  3 lease (us)  4 memory of one replica (MiB) or ''  5.. pairs: replica, worker
-- returns {ok} | {over} when fewer are lost | {gone, worker} | {short, worker}, see include/assign
-- include: base
-- include: assign
local model, count = ARGV[2], (#ARGV - 4) / 2
local row = redis.call('HMGET', model_key(model), 'state', 'lost')
if redis.call('EXISTS', replica_key(ARGV[5])) == 1 then return { 'ok' } end -- said again: the answer was lost
if row[1] ~= 'loaded' or (tonumber(row[2]) or 0) < count then return { 'over' } end
local trouble = placement_error(5, ARGV[4], model)
if trouble then return trouble end
redis.call('HINCRBY', model_key(model), 'lost', -count)
assign_replicas(model, '', 5, ARGV[4], ARGV[3])
return { 'ok' }
