-- Report the progress of a download.
-- KEYS[1] prefix
-- args: operation worker progress stage left_ms
--   progress: 0 to 1; left_ms: expected remaining time, or ''
-- returns 1, or 0 when it is over for this worker: it has ended, or is another worker's
-- include: store/base
local key = P .. 'operation:' .. args.operation
if redis.call('SISMEMBER', P .. 'file_workers:' .. args.operation, args.worker) == 0 then return 0 end
local finished_us, status = read_fields(key, 'finished_us', 'status')
if finished_us or not status then return 0 end
redis.call('HSET', key, 'status', 'running', 'progress', args.progress, 'stage', args.stage)
if args.left_ms == '' then redis.call('HDEL', key, 'downloads_until_us')
else redis.call('HSET', key, 'downloads_until_us', text(NOW + tonumber(args.left_ms) * 1000)) end
redis.call('EXPIRE', key, 86400)
return 1
