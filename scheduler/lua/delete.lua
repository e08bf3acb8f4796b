#!lua flags=allow-oom
-- Delete a stored response. A job that has not ended is cancelled, and expires 60 s after its end.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant
-- returns 1, or 0 when the tenant has no such stored response
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
local id = ARGV[2]
local status, owner, model, worker, store =
  read_fields(job_key(id), 'status', 'tenant', 'model', 'worker', 'store')
if not status or owner ~= ARGV[3] or store ~= '1' then return 0 end
if TERMINAL[status] then
  redis.call('DEL', job_key(id), log_key(id))
  return 1
end
redis.call('HSET', job_key(id), 'store', '0', 'retention_s', '60', 'cancel', '1')
if status == 'running' then
  redis.call('PUBLISH', P .. 'notify:' .. worker, 'cancel ' .. id)
else
  finish(id, 'cancelled', { code = 'cancelled' })
  dispatch(model)
end
return 1
