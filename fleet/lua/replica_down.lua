#!lua flags=allow-oom
-- A replica's engine has ended: stopped on request, crashed, or failed to start.
-- KEYS[1] prefix
-- args: replica worker incarnation code message job_code job_message max_restarts window_us delay_us
-- args: max_delay_us freed_mib
--   code, message: for the model's last_error; job_code, job_message: for the jobs that ran on it
--   max_restarts: restarts of a model in a window; delay_us: delay of the first restart; max_delay_us: the longest
--   freed_mib: memory that the engine held before it was stopped, or ''
-- returns ok | fenced
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 'fenced' end
restart_limits = { most = tonumber(args.max_restarts), window_us = tonumber(args.window_us),
  delay_us = tonumber(args.delay_us), longest_us = tonumber(args.max_delay_us) }
freed_mib = args.freed_mib
local model = replica_down(args.replica, args.job_code, args.job_message, args.code, args.message)
if model then dispatch(model) end
return 'ok'
