#!lua flags=allow-oom
-- A worker has deleted the files of a removed model, or is not waited for. The last one ends the operation.
-- KEYS[1] prefix
-- args: operation worker files bytes reason gone
--   files, bytes: deleted; reason: why some stay, or ''; gone: '1': the worker does not run; it keeps the work for its
--     return
-- returns 1, or 0 when it was reported before
-- include: store/base
-- include: fleet/model
-- include: fleet/registration
local key, operation = P .. 'operation:' .. args.operation, args.operation
if args.gone == '1' then
  if redis.call('SREM', P .. 'file_workers:' .. operation, args.worker) == 0 then return 0 end
else
  local listed = redis.call('SISMEMBER', P .. 'file_workers:' .. operation, args.worker)
  take_file_work(operation, args.worker)
  if listed == 0 then return 0 end
end
local finished_us, workers = read_fields(key, 'finished_us', 'replicas')
if finished_us or not workers then return 1 end
redis.call('HINCRBY', key, 'entries', args.files)
redis.call('HINCRBY', key, 'deleted_bytes', args.bytes)
if args.reason ~= '' then redis.call('HSETNX', key, 'reason', args.reason) end
local left = redis.call('SCARD', P .. 'file_workers:' .. operation)
redis.call('HSET', key, 'progress', string.format('%.3f', 1 - left / tonumber(workers)))
if left == 0 then end_file_operation(operation, 'completed') end
return 1
