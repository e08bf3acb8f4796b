#!lua flags=allow-oom
-- A worker reports the memory of its device.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 id of the memory, '' when it cannot be read  5 free (MiB)
--         6 the whole report (JSON)
-- returns ok | fenced
-- include: store/base
if redis.call('HGET', worker_key(ARGV[2]), 'incarnation') ~= ARGV[3] then return 'fenced' end
redis.call('HSET', worker_key(ARGV[2]), 'memory_id', ARGV[4], 'free_mib', ARGV[5], 'memory', ARGV[6])
return 'ok'
