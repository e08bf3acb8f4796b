-- A worker starts the replica that was assigned to it. A second message for the same replica has no effect.
-- KEYS[1] prefix
-- ARGV    2 replica  3 worker  4 incarnation
--         5 id of the call: a repetition after a lost answer gets the same answer
-- returns {model, override (JSON), operation or ''}, or nil
-- include: store/base
local key = replica_key(ARGV[2])
if redis.call('HGET', worker_key(ARGV[3]), 'incarnation') ~= ARGV[4] then return nil end
local model, worker, state, operation, call, override =
  read_fields(key, 'model', 'worker', 'state', 'operation', 'call', 'override')
if state == 'starting' and call == ARGV[5] then return { model, override, operation } end
if state ~= 'assigned' or worker ~= ARGV[3] then return nil end
redis.call('HSET', key, 'state', 'starting', 'call', ARGV[5])
if operation ~= '' then redis.call('HSET', P .. 'operation:' .. operation, 'status', 'running') end
return { model, override, operation }
