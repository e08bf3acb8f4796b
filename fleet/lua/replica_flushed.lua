#!lua flags=allow-oom
-- A replica's engine has dropped what a flush concerns. The last replica ends the operation.
-- KEYS[1] prefix
-- args: replica worker incarnation operation entries memory_kib reason
--   entries: removed ones, or ''; memory_kib: or ''; reason: why one of them is '', or ''
-- returns 1, or 0 when it was reported before, or the replica is another worker's
-- include: store/base
-- include: fleet/model
-- include: fleet/flush
local key = replica_key(args.replica)
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 0 end
local worker, flushes = read_fields(key, 'worker', 'flushes')
if worker ~= args.worker or not flushes then return 0 end
local left, listed = {}, false
for operation in string.gmatch(flushes, '%S+') do
  if operation == args.operation then listed = true else left[#left + 1] = operation end
end
if not listed then return 0 end
if #left == 0 then
  redis.call('HDEL', key, 'flushes')
else
  redis.call('HSET', key, 'flushes', table.concat(left, ' '))
end
add_flushed(args.operation, args.entries, args.memory_kib, args.reason)
return 1
