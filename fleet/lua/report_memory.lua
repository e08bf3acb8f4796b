#!lua flags=allow-oom
-- A worker reports the memory of its device.
-- KEYS[1] prefix
-- args: worker incarnation id free_mib memory
--   id: of the memory, '' when it cannot be read; memory: the whole report (JSON)
-- returns ok | fenced
-- include: store/base
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 'fenced' end
redis.call('HSET', worker_key(args.worker), 'memory_id', args.id, 'free_mib', args.free_mib, 'memory', args.memory)
return 'ok'
