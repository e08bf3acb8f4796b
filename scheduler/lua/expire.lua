#!lua flags=allow-oom
-- Close what nobody closed: jobs past their deadline, leases past their term, workers that fell silent.
-- Every process runs it every half second or so; each step is idempotent, so it needs no leader.
-- KEYS[1] prefix
-- ARGV    2 the gap (us) after which nobody can have renewed anything  3 one more term (us)
-- returns how many it closed, or -1 when it gave one more term to all
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
-- include: model
-- include: replica

-- If nobody ran this for so long, Redis was away (or all of us were), and the workers had no way to renew:
-- while Redis is down the clock of our promises stands still.
local before = tonumber(redis.call('GET', P .. 'expired_at')) or NOW
redis.call('SET', P .. 'expired_at', text(NOW))
if NOW - before > tonumber(ARGV[2]) then
  local term = text(NOW + tonumber(ARGV[3]))
  for _, set in ipairs({ P .. 'leases', P .. 'workers' }) do
    for _, member in ipairs(redis.call('ZRANGE', set, 0, -1)) do redis.call('ZADD', set, 'GT', term, member) end
  end
  return -1
end

local function due(set) return redis.call('ZRANGE', P .. set, '-inf', text(NOW), 'BYSCORE', 'LIMIT', 0, 100) end
local closed, touched = 0, {}

for _, id in ipairs(due('deadlines')) do
  local row = redis.call('HMGET', job_key(id), 'status', 'worker', 'cancel')
  local code = row[1] == 'running' and 'deadline_exceeded' or 'queue_timeout'
  if row[1] == 'running' then redis.call('PUBLISH', P .. 'notify:' .. row[2], 'cancel ' .. id) end
  local model
  if row[3] == '1' then model = finish(id, 'cancelled', { code = 'cancelled' })
  else model = finish(id, 'failed', { code = code }) end
  if model then touched[model] = true; closed = closed + 1 end
  redis.call('ZREM', P .. 'deadlines', id)
end

for _, model in ipairs(due('evicting')) do
  end_waiting_load(model, 'load_timeout', 'the model that had to be unloaded first was not, in time')
  closed = closed + 1
end

for _, worker in ipairs(due('workers')) do
  worker_gone(worker, 'worker ' .. worker .. ' fell silent and was given up')
  closed = closed + 1
end

for _, id in ipairs(due('leases')) do
  local model = requeue_or_fail(id, 'worker_lost', 'the worker that ran this request fell silent')
  if model then touched[model] = true; closed = closed + 1 end
  redis.call('ZREM', P .. 'leases', id)
end

for model in pairs(touched) do dispatch(model) end
return closed
