#!lua flags=allow-oom
-- An operator ends the drain of a worker, also of one that is not registered now: its replicas accept jobs again, and
-- waiting jobs are dispatched in the same call. A worker that shuts down goes on draining.
-- KEYS[1] prefix
-- args: worker by
--   by: who asks for it (JSON: actor, authority, ...)
-- returns ok | unchanged (no operator drains it: the answer of an earlier call may be lost)
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: fleet/model
-- include: fleet/drain
local worker = args.worker
if redis.call('HDEL', P .. 'operator_drains', worker) == 0 then return 'unchanged' end
if redis.call('HGET', worker_key(worker), 'draining') == 'operator' then
  for model in pairs(end_worker_drain(worker)) do dispatch(model) end
  make_recovery_due() -- replicas that were lost may have a place again
end
append_audit(cjson.decode(args.by), 'end_drain', worker, 'done')
return 'ok'
