#!lua flags=allow-oom
-- Delete the record of a batch that has ended.
-- KEYS[1] prefix
-- args: id tenant also_active
--   also_active: 0|1: also if it has not ended
-- returns 'ok', 'active', or 'unknown' when the tenant has no such batch
-- include: store/base
local key = P .. 'batch:' .. args.id
if redis.call('HGET', key, 'tenant') ~= args.tenant then return 'unknown' end
if args.also_active ~= '1' and redis.call('ZSCORE', P .. 'batches', args.id) then return 'active' end
redis.call('DEL', key)
redis.call('ZREM', P .. 'batches', args.id)
redis.call('ZREM', P .. 'tenant_batches:' .. args.tenant, args.id)
return 'ok'
