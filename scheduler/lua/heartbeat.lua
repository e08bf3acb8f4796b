#!lua flags=allow-oom
-- Renew the leases of a worker and its jobs, and return the state that the worker should have: thus a lost
-- wake-up message or cancel costs one heartbeat, not a request.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 lease (us)
--         5 age (us) after which the wake-up message of a dispatched job counts as lost
-- returns {fenced} | {ok, {running id...}, {cancelled id...}, {unclaimed id...}, {replica, state, ...}}
-- include: base
local worker, lease = ARGV[2], tonumber(ARGV[4])
if redis.call('HGET', worker_key(worker), 'incarnation') ~= ARGV[3] then return { 'fenced' } end
redis.call('ZADD', P .. 'workers', text(NOW + lease), worker)
local running, cancelled, unclaimed, replicas = {}, {}, {}, {}
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
  replicas[#replicas + 1] = replica
  replicas[#replicas + 1] = redis.call('HGET', replica_key(replica), 'state')
  for _, id in ipairs(redis.call('SMEMBERS', slots_key(replica))) do
    redis.call('ZADD', P .. 'leases', 'XX', text(NOW + lease), id)
    local status, cancel, dispatched_us = read_fields(job_key(id), 'status', 'cancel', 'dispatched_us')
    if status == 'running' then
      running[#running + 1] = id
      if cancel == '1' then cancelled[#cancelled + 1] = id end
    elseif NOW - tonumber(dispatched_us) > tonumber(ARGV[5]) then
      unclaimed[#unclaimed + 1] = id
    end
  end
end
return { 'ok', running, cancelled, unclaimed, replicas }
