#!lua flags=allow-oom
-- Register a worker with a new incarnation. The replicas of its former incarnation are removed at once, and
-- their jobs requeued or failed, without waiting for their leases.
-- KEYS[1] prefix
-- ARGV    2 worker  3 lease (us)  4 key of the list for its wake-up messages
--         5 the wake-up message, with @ID@ for the job's id  6 device  7 description (JSON, for operators)
-- returns the incarnation
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
-- include: model
-- include: replica
local worker = ARGV[2]
remove_worker(worker, 'worker ' .. worker .. ' was restarted')
local incarnation = next_fence()
redis.call('HSET', worker_key(worker), 'incarnation', incarnation, 'wake_up_list', ARGV[4],
  'wake_up_message', ARGV[5], 'device', ARGV[6], 'description', ARGV[7], 'since_us', text(NOW))
redis.call('ZADD', P .. 'workers', text(NOW + tonumber(ARGV[3])), worker)
return incarnation
