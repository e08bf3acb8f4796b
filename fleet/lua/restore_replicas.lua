-- Begin to restore the missing replicas of a loaded model, by request, or to add one because of its load; the others
-- serve meanwhile. The operation ends when all of them are up, or one has ended.
-- KEYS[1] prefix
-- args: model operation lease_us need_mib authorization grows_from reason places..
--   need_mib: memory of one replica, or ''; authorization: JSON, see governance/authorize
--   grows_from: how many replicas were wanted when it was decided to add one; '': it restores
--   reason: why one is added (text)
--   places: pairs: replica, worker
-- returns {ok} | {refused, reason} because of its authorization | {under_way} when an earlier operation has not ended
--         | {over} when the model is not loaded, or another number of replicas is missing
--         | {gone, worker} | {short, worker}, see fleet/placement
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/placement
local model, operation, count = args.model, args.operation, (#ARGV - first.places + 1) / 2
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local state, wanted, latest = read_fields(model_key(model), 'state', 'wanted', 'operation')
if latest == operation then return { 'ok' } end -- a repeated call: the answer was lost
if state ~= 'loaded' then return { 'over' } end
if latest and redis.call('HEXISTS', P .. 'operation:' .. latest, 'kind') == 1
  and redis.call('HEXISTS', P .. 'operation:' .. latest, 'finished_us') == 0 then return { 'under_way' } end
if args.grows_from ~= '' and wanted ~= args.grows_from then return { 'over' } end
local missing = tonumber(wanted) - count_staying(model)
if (args.grows_from == '' and missing or missing + 1) ~= count then return { 'over' } end
local conflict = placement_error(first.places, args.need_mib, model)
if conflict then return conflict end
if args.grows_from == '' then
  redis.call('HDEL', model_key(model), 'lost')
  forget_crashes(model)
end
use_authorization(authorization, operation)
begin_operation(operation, 'load', model, 'pending', 'waiting for a worker', count, authorization)
redis.call('HSET', P .. 'operation:' .. operation, 'restores', '1')
if args.grows_from ~= '' then
  redis.call('HSET', P .. 'operation:' .. operation, 'grows', '1')
  change_wanted(model, 1, args.reason, operation)
end
assign_replicas(model, operation, first.places, args.need_mib, args.lease_us)
return { 'ok' }
