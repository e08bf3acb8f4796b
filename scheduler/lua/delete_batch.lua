#!lua flags=allow-oom
-- Delete the record of a batch that has ended.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 also if it has not ended: 0|1
-- returns 'ok', 'active', or 'unknown' when the tenant has no such batch
-- include: store/base
local key = P .. 'batch:' .. ARGV[2]
if redis.call('HGET', key, 'tenant') ~= ARGV[3] then return 'unknown' end
if ARGV[4] ~= '1' and redis.call('ZSCORE', P .. 'batches', ARGV[2]) then return 'active' end
redis.call('DEL', key)
redis.call('ZREM', P .. 'batches', ARGV[2])
redis.call('ZREM', P .. 'tenant_batches:' .. ARGV[3], ARGV[2])
return 'ok'
