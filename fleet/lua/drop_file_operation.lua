#!lua flags=allow-oom
-- Forget a download or removal whose row is lost.
-- KEYS[1] prefix
-- args: model operation
-- include: store/base
if redis.call('EXISTS', P .. 'operation:' .. args.operation) == 0
  and redis.call('HGET', P .. 'file_operations', args.model) == args.operation then
  redis.call('HDEL', P .. 'file_operations', args.model)
  redis.call('DEL', P .. 'file_workers:' .. args.operation)
end
