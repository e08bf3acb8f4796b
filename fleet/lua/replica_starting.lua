-- A worker starts the replica that was assigned to it. A second message for the same replica has no effect.
-- KEYS[1] prefix
-- args: replica worker incarnation call
--   call: id of the call: a repetition after a lost answer gets the same answer
-- returns {model, override (JSON), operation or ''}, or nil
-- include: store/base
local key = replica_key(args.replica)
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return nil end
local model, worker, state, operation, call, override =
  read_fields(key, 'model', 'worker', 'state', 'operation', 'call', 'override')
if state == 'starting' and call == args.call then return { model, override, operation } end
if state ~= 'assigned' or worker ~= args.worker then return nil end
redis.call('HSET', key, 'state', 'starting', 'call', args.call)
-- an operation that failed with another replica stays failed
if operation ~= '' and redis.call('HEXISTS', P .. 'operation:' .. operation, 'finished_us') == 0 then
  redis.call('HSET', P .. 'operation:' .. operation, 'status', 'running')
end
return { model, override, operation }
