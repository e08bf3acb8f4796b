-- Record the progress of a replica's start or stop; the operation's progress is the mean of its replicas.
-- KEYS[1] prefix
-- args: replica progress stage download_left_ms
--   progress: 0..1
--   download_left_ms: time that a download before the start takes yet, '' without one: the usual duration of a load
--     counts from the end of the download
-- returns 1, or 0 when the start or stop of the replica is over, and when its start was cancelled
-- include: store/base
-- include: fleet/model
local replica_state, model, before, restoration, up_us =
  read_fields(replica_key(args.replica), 'state', 'model', 'progress', 'operation', 'up_us')
-- a replica that stops without having been up reports the progress of its start
if replica_state ~= 'starting' and not (replica_state == 'stopping' and up_us) then return 0 end
redis.call('HSET', replica_key(args.replica), 'progress', args.progress)
local model_state, operation = read_fields(model_key(model), 'state', 'operation')
if replica_state == 'starting' and model_state == 'loaded' then
  -- the platform replaces a replica, without an operation; or the operation failed with another replica
  if restoration == '' then return 1 end
  if redis.call('HEXISTS', P .. 'operation:' .. restoration, 'finished_us') == 1 then return 1 end
  operation = restoration
elseif model_state ~= (replica_state == 'starting' and 'loading' or 'unloading') then return 0 end
add_progress(operation, tonumber(args.progress) - tonumber(before))
redis.call('HSET', P .. 'operation:' .. operation, 'stage', args.stage)
if args.download_left_ms ~= '' then
  local until_us = NOW + tonumber(args.download_left_ms) * 1000
  redis.call('HSET', P .. 'operation:' .. operation, 'began_us', text(NOW), 'downloads_until_us', text(until_us))
end
return 1
