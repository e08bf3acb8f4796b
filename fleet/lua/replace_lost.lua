-- Replace replicas of a loaded model that were lost with their workers, or crashed and are to be started again by
-- now; the remaining replicas serve meanwhile.
-- KEYS[1] prefix
-- args: model lease_us need_mib places..
--   need_mib: memory of one replica, or ''; places: pairs: replica, worker
-- returns {ok} | {over} when fewer replicas are to be replaced | {gone, worker} | {short, worker}, see fleet/placement
-- include: store/base
-- include: fleet/placement
-- include: store/counters
-- include: governance/audit
local model, count = args.model, (#ARGV - first.places + 1) / 2
local state, lost, crashed, restart_us = read_fields(model_key(model), 'state', 'lost', 'crashed', 'restart_us')
lost = tonumber(lost) or 0
local due = restart_us and NOW >= tonumber(restart_us) and tonumber(crashed) or 0
-- the call is repeated when its answer was lost
if redis.call('EXISTS', replica_key(ARGV[first.places])) == 1 then return { 'ok' } end
if state ~= 'loaded' or lost + due < count then return { 'over' } end
local conflict = placement_error(first.places, args.need_mib, model)
if conflict then return conflict end
local replaced = math.min(lost, count)
redis.call('HINCRBY', model_key(model), 'lost', -replaced)
if count - replaced == due and due > 0 then redis.call('HDEL', model_key(model), 'crashed', 'restart_us')
elseif count > replaced then redis.call('HINCRBY', model_key(model), 'crashed', replaced - count) end
if count > replaced then add_to_counter('restarts ' .. model_label(model), count - replaced) end
assign_replicas(model, '', first.places, args.need_mib, args.lease_us)
append_audit({ actor = 'platform', authority = 'platform' }, 'replace', model, 'begun', { replicas = count })
return { 'ok' }
