#!lua flags=allow-oom
-- Give a download whose worker has gone to another one, which continues with what is written where it runs.
-- KEYS[1] prefix
-- args: operation was worker
--   was: the worker that had it; worker: the next one, or '' when there is none: then it only stays known
-- returns 1, or 0 when it has ended or is another worker's by now
-- include: store/base
-- include: fleet/model
-- include: fleet/registration
local key = P .. 'operation:' .. args.operation
local kind, worker, work, finished_us = read_fields(key, 'kind', 'worker', 'work', 'finished_us')
if kind ~= 'download' or finished_us or worker ~= args.was then return 0 end
redis.call('EXPIRE', key, 86400)
redis.call('HDEL', key, 'downloads_until_us')
if args.worker == '' then
  redis.call('HSET', key, 'status', 'pending', 'stage', 'waiting for a worker')
  return 1
end
take_file_work(args.operation, args.was)
redis.call('HSET', key, 'worker', args.worker, 'status', 'pending', 'stage', 'waiting for a worker')
give_file_work(args.operation, args.worker, work)
return 1
