-- Record a batch. A repeated call changes nothing.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 kind  5 record (JSON)  6 progress (JSON)  7 lifetime of the record (s)
--         8 most batches of the tenant that have not ended  9 most of all
-- returns 'ok', 'active' or 'all': which bound is reached
-- include: store/base
local id, tenant = ARGV[2], ARGV[3]
local key = P .. 'batch:' .. id
local of_tenant = P .. 'tenant_batches:' .. tenant
if redis.call('EXISTS', key) == 1 then return 'ok' end
redis.call('ZREMRANGEBYSCORE', of_tenant, '-inf', text(NOW - tonumber(ARGV[7]) * 1000000))
if redis.call('ZCARD', of_tenant) >= tonumber(ARGV[9]) then return 'all' end
local active = 0
for _, other in ipairs(redis.call('ZRANGE', P .. 'batches', 0, -1)) do
  if redis.call('HGET', P .. 'batch:' .. other, 'tenant') == tenant then active = active + 1 end
end
if active >= tonumber(ARGV[8]) then return 'active' end
redis.call('HSET', key, 'tenant', tenant, 'kind', ARGV[4], 'record', ARGV[5], 'progress', ARGV[6], 'created_us', text(NOW))
redis.call('EXPIRE', key, ARGV[7])
redis.call('ZADD', P .. 'batches', text(NOW), id)
redis.call('ZADD', of_tenant, text(NOW), id)
redis.call('EXPIRE', of_tenant, ARGV[7])
return 'ok'
