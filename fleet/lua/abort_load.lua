#!lua flags=allow-oom
-- Abort a load that waits for the unload of another model: loading -> failed.
-- KEYS[1] prefix
-- ARGV    2 model  3 operation  4 code  5 message
-- returns ok | over when the load has ended or continues already
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/terminal
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
local waits = redis.call('ZSCORE', P .. 'evicting', ARGV[2])
if not waits or redis.call('HGET', model_key(ARGV[2]), 'operation') ~= ARGV[3] then return 'over' end
end_waiting_load(ARGV[2], ARGV[4], ARGV[5])
return 'ok'
