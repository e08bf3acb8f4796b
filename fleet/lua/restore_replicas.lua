-- Begin to restore the missing replicas of a loaded model, by request; the others serve meanwhile. The operation
-- ends when all of them are up, or one has ended.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 lease (us)  5 memory of one replica (MiB) or ''
--         6 authorization (JSON, see include/authorize)  7.. pairs: replica, worker
-- returns {ok} | {refused, reason} because of 6 | {under_way} when an earlier operation has not ended
--         | {over} when the model is not loaded, or another number of replicas is missing
--         | {gone, worker} | {short, worker}, see include/assign
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/placement
local model, operation, count, authorization = ARGV[2], ARGV[3], (#ARGV - 6) / 2, cjson.decode(ARGV[6])
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local state, wanted, latest = read_fields(model_key(model), 'state', 'wanted', 'operation')
if latest == operation then return { 'ok' } end -- a repeated call: the answer was lost
if state ~= 'loaded' then return { 'over' } end
if latest and redis.call('HEXISTS', P .. 'operation:' .. latest, 'kind') == 1
  and redis.call('HEXISTS', P .. 'operation:' .. latest, 'finished_us') == 0 then return { 'under_way' } end
if tonumber(wanted) - redis.call('SCARD', P .. 'replicas:' .. model) ~= count then return { 'over' } end
local conflict = placement_error(7, ARGV[5], model)
if conflict then return conflict end
redis.call('HDEL', model_key(model), 'lost')
forget_crashes(model)
use_authorization(authorization, operation)
begin_operation(operation, 'load', model, 'pending', 'waiting for a worker', count, authorization)
redis.call('HSET', P .. 'operation:' .. operation, 'restores', '1')
assign_replicas(model, operation, 7, ARGV[5], ARGV[4])
return { 'ok' }
