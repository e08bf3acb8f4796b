-- Record a batch. A repeated call changes nothing.
-- KEYS[1] prefix
-- args: id tenant kind record progress ttl_s max_active max_batches
--   record, progress: JSON; ttl_s: lifetime of the record
--   max_active: most batches of the tenant that have not ended; max_batches: most of all of the tenant
-- returns 'ok', 'active' or 'all': which bound is reached
-- include: store/base
local id, tenant = args.id, args.tenant
local key = P .. 'batch:' .. id
local of_tenant = P .. 'tenant_batches:' .. tenant
if redis.call('EXISTS', key) == 1 then return 'ok' end
redis.call('ZREMRANGEBYSCORE', of_tenant, '-inf', text(NOW - tonumber(args.ttl_s) * 1000000))
if redis.call('ZCARD', of_tenant) >= tonumber(args.max_batches) then return 'all' end
local active = 0
for _, other in ipairs(redis.call('ZRANGE', P .. 'batches', 0, -1)) do
  if redis.call('HGET', P .. 'batch:' .. other, 'tenant') == tenant then active = active + 1 end
end
if active >= tonumber(args.max_active) then return 'active' end
redis.call('HSET', key, 'tenant', tenant, 'kind', args.kind, 'record', args.record, 'progress', args.progress,
  'created_us', text(NOW))
redis.call('EXPIRE', key, args.ttl_s)
redis.call('ZADD', P .. 'batches', text(NOW), id)
redis.call('ZADD', of_tenant, text(NOW), id)
redis.call('EXPIRE', of_tenant, args.ttl_s)
return 'ok'
