#!lua flags=allow-oom
-- A worker leaves: `drain` stops dispatching to it, `gone` removes it after it has stopped its engines.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 drain | gone  5 message
-- returns ok | fenced
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: bytes
-- include: terminal
-- include: requeue
-- include: unfinished
-- include: model
-- include: replica
-- include: drain
local worker = ARGV[2]
if redis.call('HGET', worker_key(worker), 'incarnation') ~= ARGV[3] then return 'fenced' end
if ARGV[4] == 'drain' then
  drain_worker(worker, 'shutdown')
else
  remove_worker(worker, ARGV[5], true)
  redis.call('DEL', worker_key(worker))
end
return 'ok'
