#!lua flags=allow-oom
-- Ask the runner to cancel a batch. One that has ended stays as it is.
-- KEYS[1] prefix
-- args: id tenant
-- returns 1, or 0 when the tenant has no such batch
-- include: store/base
local key = P .. 'batch:' .. args.id
if redis.call('HGET', key, 'tenant') ~= args.tenant then return 0 end
if redis.call('ZSCORE', P .. 'batches', args.id) and not redis.call('HGET', key, 'cancel_us') then
  redis.call('HSET', key, 'cancel_us', text(NOW))
end
return 1
