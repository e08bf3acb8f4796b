-- How far a replica's load is; the operation shows the mean of its replicas.
-- KEYS[1] prefix
-- ARGV    2 replica  3 progress 0..1  4 stage
-- returns 1, or 0 when the replica is not being loaded any more
-- include: base
local row = redis.call('HMGET', replica_key(ARGV[2]), 'state', 'operation', 'model')
if row[1] ~= 'starting' then return 0 end
redis.call('HSET', replica_key(ARGV[2]), 'progress', ARGV[3])
local sum, count = 0, 0
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. row[3])) do
  sum = sum + tonumber(redis.call('HGET', replica_key(replica), 'progress') or '0')
  count = count + 1
end
redis.call('HSET', P .. 'operation:' .. row[2], 'progress', string.format('%.3f', sum / count), 'stage', ARGV[4])
return 1
