-- A replica's engine can answer. With the last of them the model is loaded, its slots open, and those who
-- wait are dispatched.
-- KEYS[1] prefix
-- ARGV    2 replica  3 worker  4 incarnation  5 slots  6 pid of the engine
-- returns up | loaded | gone (stop the engine: nobody waits for it any more)
-- include: base
-- include: log
-- include: line
-- include: dispatch
-- include: terminal
-- include: lost
-- include: replica
local key = replica_key(ARGV[2])
if redis.call('HGET', worker_key(ARGV[3]), 'incarnation') ~= ARGV[4] then return 'gone' end
local row = redis.call('HMGET', key, 'state', 'model', 'operation', 'worker')
if row[1] == 'up' and row[4] == ARGV[3] then return 'up' end -- said again, since the answer was lost
if row[1] ~= 'starting' then return 'gone' end
redis.call('HSET', key, 'state', 'up', 'slots', ARGV[5], 'pid', ARGV[6], 'progress', '1', 'up_us', text(NOW))
local replicas = redis.call('SMEMBERS', P .. 'replicas:' .. row[2])
for _, replica in ipairs(replicas) do
  if redis.call('HGET', replica_key(replica), 'state') ~= 'up' then return 'up' end
end
for _, replica in ipairs(replicas) do
  local worker = redis.call('HGET', replica_key(replica), 'worker')
  if redis.call('HEXISTS', worker_key(worker), 'draining') == 0 then
    redis.call('SADD', P .. 'ready:' .. row[2], replica)
  end
end
redis.call('HSET', model_key(row[2]), 'state', 'loaded', 'loaded_us', text(NOW), 'changed_us', text(NOW))
end_operation(row[3], 'completed')
dispatch(row[2])
return 'loaded'
