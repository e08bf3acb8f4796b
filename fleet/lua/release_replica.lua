#!lua flags=allow-oom
-- Want one replica less of a loaded model, because of its load or of another model's need: a missing one, else one that is
-- up. It gets no more jobs; its running jobs finish, then its worker stops the engine. The model stays loaded.
-- KEYS[1] prefix
-- args: model wanted replica reason
--   wanted: how many were wanted when this was decided; replica: the one to stop, '' for a missing one; reason: text
-- returns {ok, replica, worker}, {ok} for a missing one | {over} when the model has changed since
-- include: store/base
-- include: scheduler/delay_ends
-- include: fleet/model
local model, replica = args.model, args.replica
local state, wanted, least, latest, leaving, lost, crashed =
  read_fields(model_key(model), 'state', 'wanted', 'least', 'operation', 'leaving', 'lost', 'crashed')
if state ~= 'loaded' or wanted ~= args.wanted or tonumber(wanted) <= (tonumber(least) or 1) then return { 'over' } end
if latest and redis.call('HEXISTS', P .. 'operation:' .. latest, 'kind') == 1
  and redis.call('HEXISTS', P .. 'operation:' .. latest, 'finished_us') == 0 then return { 'over' } end
local missing = tonumber(wanted) - count_staying(model)
if (missing > 0) ~= (replica == '') then return { 'over' } end
local answer = { 'ok' }
if replica == '' then
  if (tonumber(lost) or 0) > 0 then redis.call('HINCRBY', model_key(model), 'lost', -1)
  elseif (tonumber(crashed) or 0) > 1 then redis.call('HINCRBY', model_key(model), 'crashed', -1)
  elseif crashed then redis.call('HDEL', model_key(model), 'crashed', 'restart_us') end
  if missing == 1 then redis.call('HDEL', model_key(model), 'code', 'last_error') end
else
  local ready = P .. 'ready:' .. model
  if not redis.call('ZSCORE', ready, replica) or redis.call('ZCARD', ready) < 2 or (tonumber(leaving) or 0) > 0 then
    return { 'over' }
  end
  redis.call('ZREM', ready, replica)
  release_delayed(model)
  redis.call('HSET', replica_key(replica), 'state', 'stopping', 'progress', '0', 'drains_fully', '1')
  redis.call('HINCRBY', model_key(model), 'leaving', 1)
  answer = { 'ok', replica, redis.call('HGET', replica_key(replica), 'worker') }
end
local left = change_wanted(model, -1, args.reason)
append_audit({ actor = 'platform', authority = 'platform' }, 'release', model, 'begun', { replicas = left })
return answer
