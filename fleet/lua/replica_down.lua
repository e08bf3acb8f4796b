#!lua flags=allow-oom
-- A replica's engine has ended: stopped on request, crashed, or failed to start.
-- KEYS[1] prefix
-- ARGV    2 replica  3 worker  4 incarnation  5 code and  6 message for the model's last_error
--         7 code and  8 message for the jobs that ran on it
--         9 restarts of a model in a window  10 the window (us)  11 delay of the first restart (us)
--         12 the longest delay (us)  13 memory (MiB) that the engine held before it was stopped, or ''
-- returns ok | fenced
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
if redis.call('HGET', worker_key(ARGV[3]), 'incarnation') ~= ARGV[4] then return 'fenced' end
restart_limits = { most = tonumber(ARGV[9]), window_us = tonumber(ARGV[10]), delay_us = tonumber(ARGV[11]),
  longest_us = tonumber(ARGV[12]) }
freed_mib = ARGV[13]
local model = replica_down(ARGV[2], ARGV[7], ARGV[8], ARGV[5], ARGV[6])
if model then dispatch(model) end
return 'ok'
