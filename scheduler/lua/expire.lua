#!lua flags=allow-oom
-- End jobs past their deadline or lease, loads that waited too long, and workers without a heartbeat.
-- Every process runs it about every half second; each step is idempotent, so no leader is needed.
-- KEYS[1] prefix
-- ARGV    2 gap between two calls (us) after which all leases are extended  3 the extension (us)
-- returns how many jobs, loads and workers it ended, or -1 when it extended all leases
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
-- include: model
-- include: replica

-- If no process ran this script for so long, Redis was down (or all processes were), and no worker could
-- renew its leases: downtime of Redis must not count against them.
local last_run = tonumber(redis.call('GET', P .. 'expired_at')) or NOW
redis.call('SET', P .. 'expired_at', text(NOW))
if NOW - last_run > tonumber(ARGV[2]) then
  local extended = text(NOW + tonumber(ARGV[3]))
  for _, set in ipairs({ P .. 'leases', P .. 'workers' }) do
    for _, member in ipairs(redis.call('ZRANGE', set, 0, -1)) do
      redis.call('ZADD', set, 'GT', extended, member)
    end
  end
  return -1
end

local function due(set)
  return redis.call('ZRANGE', P .. set, '-inf', text(NOW), 'BYSCORE', 'LIMIT', 0, 100)
end
local ended, changed = 0, {}

for _, id in ipairs(due('deadlines')) do
  local status, worker, cancel = read_fields(job_key(id), 'status', 'worker', 'cancel')
  local code = status == 'running' and 'deadline_exceeded' or 'queue_timeout'
  if status == 'running' then redis.call('PUBLISH', P .. 'notify:' .. worker, 'cancel ' .. id) end
  local model
  if cancel == '1' then model = finish(id, 'cancelled', { code = 'cancelled' })
  else model = finish(id, 'failed', { code = code }) end
  if model then changed[model] = true; ended = ended + 1 end
  redis.call('ZREM', P .. 'deadlines', id)
end

for _, model in ipairs(due('evicting')) do
  end_waiting_load(model, 'load_timeout', 'the model to unload first was not unloaded in time')
  ended = ended + 1
end

for _, worker in ipairs(due('workers')) do
  remove_worker(worker, 'worker ' .. worker .. ' sent no heartbeat and was removed')
  ended = ended + 1
end

for _, id in ipairs(due('leases')) do
  local model = requeue_or_fail(id, 'worker_lost', 'the worker that ran this request sent no heartbeat')
  if model then changed[model] = true; ended = ended + 1 end
  redis.call('ZREM', P .. 'leases', id)
end

for model in pairs(changed) do dispatch(model) end
return ended
