#!lua flags=allow-oom
-- Ask the runner to cancel a batch. One that has ended stays as it is.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant
-- returns 1, or 0 when the tenant has no such batch
-- include: store/base
local key = P .. 'batch:' .. ARGV[2]
if redis.call('HGET', key, 'tenant') ~= ARGV[3] then return 0 end
if redis.call('ZSCORE', P .. 'batches', ARGV[2]) and not redis.call('HGET', key, 'cancel_us') then
  redis.call('HSET', key, 'cancel_us', text(NOW))
end
return 1
