#!lua flags=allow-oom
-- A worker begins a new life. What its former incarnation held ends now, not when its lease does.
-- KEYS[1] prefix
-- ARGV    2 worker  3 lease (us)  4 key of its bell's list  5 the bell, with @ID@ for the job
--         6 device  7 what it is (JSON, for operators)
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
worker_gone(worker, 'worker ' .. worker .. ' was restarted')
local incarnation = next_fence()
redis.call('HSET', worker_key(worker), 'incarnation', incarnation, 'wake_up_list', ARGV[4], 'wake_up_message', ARGV[5],
  'device', ARGV[6], 'description', ARGV[7], 'since_us', text(NOW))
redis.call('ZADD', P .. 'workers', text(NOW + tonumber(ARGV[3])), worker)
return incarnation
