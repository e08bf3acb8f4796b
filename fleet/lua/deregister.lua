#!lua flags=allow-oom
-- A worker leaves: `drain` stops dispatching to it, `gone` removes it after it has stopped its engines.
-- KEYS[1] prefix
-- args: worker incarnation step message
--   step: drain | gone
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
-- include: fleet/drain
local worker = args.worker
if redis.call('HGET', worker_key(worker), 'incarnation') ~= args.incarnation then return 'fenced' end
if args.step == 'drain' then
  drain_worker(worker, 'shutdown')
else
  remove_worker(worker, args.message, true)
  redis.call('DEL', worker_key(worker))
end
return 'ok'
