#!lua flags=allow-oom
-- Register a worker with a new incarnation. The replicas of its former incarnation are removed at once, and
-- their jobs requeued or failed, without waiting for their leases.
-- KEYS[1] prefix
-- args: worker lease_us device description
--   description: JSON, for operators
-- returns the incarnation
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
local worker = args.worker
remove_worker(worker, 'worker ' .. worker .. ' was restarted')
make_recovery_due()
local incarnation = next_fence()
redis.call('HSET', worker_key(worker), 'incarnation', incarnation, 'device', args.device,
  'description', args.description, 'since_us', text(NOW))
-- an operator's drain lasts longer than an incarnation
if redis.call('HEXISTS', P .. 'operator_drains', worker) == 1 then
  redis.call('HSET', worker_key(worker), 'draining', 'operator')
end
redis.call('ZREM', P .. 'lost_workers', worker)
redis.call('ZADD', P .. 'workers', text(NOW + tonumber(args.lease_us)), worker)
return incarnation
