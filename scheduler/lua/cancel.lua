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
local row = redis.call('HMGET', job_key(id), 'status', 'tenant', 'model', 'worker')
if not row[1] or row[2] ~= ARGV[3] then return nil end
if row[1] == 'queued' or row[1] == 'dispatched' then
  finish(id, 'cancelled', { code = 'cancelled' })
  dispatch(row[3])
  return 'cancelled'
end
if row[1] == 'running' then
  redis.call('HSET', job_key(id), 'cancel', '1')
  redis.call('PUBLISH', P .. 'notify:' .. row[4], 'cancel ' .. id)
end
return row[1]
