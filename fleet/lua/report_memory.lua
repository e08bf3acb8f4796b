#!lua flags=allow-oom
-- A worker says how much memory its device has left.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 what names that memory, '' when nothing is known of it  5 free (MiB)  6 all of it (JSON)
-- returns ok | fenced
-- include: base
if redis.call('HGET', worker_key(ARGV[2]), 'incarnation') ~= ARGV[3] then return 'fenced' end
redis.call('HSET', worker_key(ARGV[2]), 'memory_id', ARGV[4], 'free_mib', ARGV[5], 'memory', ARGV[6])
return 'ok'
