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
local row = redis.call('HMGET', job_key(id), 'status', 'tenant', 'model', 'worker', 'store')
if not row[1] or row[2] ~= ARGV[3] or row[5] ~= '1' then return 0 end
if TERMINAL[row[1]] then
  redis.call('DEL', job_key(id), log_key(id))
  return 1
end
redis.call('HSET', job_key(id), 'store', '0', 'retention_s', '60', 'cancel', '1')
if row[1] == 'running' then
  redis.call('PUBLISH', P .. 'notify:' .. row[4], 'cancel ' .. id)
else
  finish(id, 'cancelled', { code = 'cancelled' })
  dispatch(row[3])
end
return 1
