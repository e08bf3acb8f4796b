#!lua flags=allow-oom
-- Cancel a waiting job, or ask the worker that runs it to stop. Does nothing to a job that has ended.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant
-- returns the status after the call, or nil when the tenant has no such job
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
local id = ARGV[2]
local status, owner, model, worker = read_fields(job_key(id), 'status', 'tenant', 'model', 'worker')
if not status or owner ~= ARGV[3] then return nil end
if status == 'queued' or status == 'dispatched' then
  finish(id, 'cancelled', { code = 'cancelled' })
  dispatch(model)
  return 'cancelled'
end
if status == 'running' then
  redis.call('HSET', job_key(id), 'cancel', '1')
  redis.call('PUBLISH', P .. 'notify:' .. worker, 'cancel ' .. id)
end
return status
