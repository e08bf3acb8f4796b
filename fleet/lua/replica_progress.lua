-- Record the progress of a replica's start or stop; the operation's progress is the mean of its replicas.
-- KEYS[1] prefix
-- ARGV    2 replica  3 progress 0..1  4 stage
-- returns 1, or 0 when the replica is not being started or stopped any more
-- include: base
local row = redis.call('HMGET', replica_key(ARGV[2]), 'state', 'model')
if row[1] ~= 'starting' and row[1] ~= 'stopping' then return 0 end
redis.call('HSET', replica_key(ARGV[2]), 'progress', ARGV[3])
local model = redis.call('HMGET', model_key(row[2]), 'state', 'operation')
-- a replica that replaces a lost one has no operation
if row[1] == 'starting' and model[1] == 'loaded' then return 1 end
if model[1] ~= (row[1] == 'starting' and 'loading' or 'unloading') then return 0 end
local key = P .. 'operation:' .. model[2]
local count = tonumber(redis.call('HGET', key, 'replicas'))
local remaining = redis.call('SMEMBERS', P .. 'replicas:' .. row[2])
local sum = count - #remaining -- a replica that has ended counts as done
for _, replica in ipairs(remaining) do
  sum = sum + tonumber(redis.call('HGET', replica_key(replica), 'progress') or '0')
end
redis.call('HSET', key, 'progress', string.format('%.3f', sum / count), 'stage', ARGV[4])
return 1
