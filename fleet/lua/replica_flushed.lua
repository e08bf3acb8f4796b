#!lua flags=allow-oom
-- A replica's engine has dropped what a flush concerns. The last replica ends the operation.
-- KEYS[1] prefix
-- ARGV    2 replica  3 worker  4 incarnation  5 operation  6 entries removed or ''  7 memory (KiB) or ''
--         8 reason why one of them is '', or ''
-- returns 1, or 0 when it was reported before, or the replica is another worker's
-- include: store/base
-- include: fleet/model
-- include: fleet/flush
local key = replica_key(ARGV[2])
if redis.call('HGET', worker_key(ARGV[3]), 'incarnation') ~= ARGV[4] then return 0 end
local worker, flushes = read_fields(key, 'worker', 'flushes')
if worker ~= ARGV[3] or not flushes then return 0 end
local left, listed = {}, false
for operation in string.gmatch(flushes, '%S+') do
  if operation == ARGV[5] then listed = true else left[#left + 1] = operation end
end
if not listed then return 0 end
if #left == 0 then
  redis.call('HDEL', key, 'flushes')
else
  redis.call('HSET', key, 'flushes', table.concat(left, ' '))
end
add_flushed(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
return 1
