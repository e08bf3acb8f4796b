#!lua flags=allow-oom
-- A worker leaves: `drain` stops dispatching to it, `gone` removes it after it has stopped its engines.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 drain | gone  5 message
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
-- include: fleet/drain
local worker = ARGV[2]
if redis.call('HGET', worker_key(worker), 'incarnation') ~= ARGV[3] then return 'fenced' end
if ARGV[4] == 'drain' then
  drain_worker(worker, 'shutdown')
else
  remove_worker(worker, ARGV[5], true)
  redis.call('DEL', worker_key(worker))
end
return 'ok'
