-- A worker that drains: no job is dispatched to it, and no replica assigned. Its field `draining` has the cause:
-- `shutdown` (of its process, until that ends) or `operator` (until `end_drain`, also for later incarnations).

-- include: scheduler/delay_ends

-- Let the replicas of a worker accept no more jobs. Their running jobs finish; slots that become free are offered to
-- nobody, since the replicas are not in `ready` (XX in `offer_freed_slots`).
local function drain_worker(worker, cause)
  redis.call('HSET', worker_key(worker), 'draining', cause)
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
    local model = redis.call('HGET', replica_key(replica), 'model')
    redis.call('ZREM', P .. 'ready:' .. model, replica)
    release_delayed(model)
  end
end

-- Let the replicas of a worker accept jobs again: those that are up, of models that are loaded. The share of their
-- slots that is taken is counted anew, since slots became free meanwhile. Returns the models to dispatch for.
local function end_worker_drain(worker)
  local models = {}
  redis.call('HDEL', worker_key(worker), 'draining')
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
    local model, state, slots = read_fields(replica_key(replica), 'model', 'state', 'slots')
    if state == 'up' and redis.call('HGET', model_key(model), 'state') == 'loaded' then
      local taken = redis.call('HLEN', slots_key(replica))
      redis.call('ZADD', P .. 'ready:' .. model, taken / slots, replica)
      models[model] = true
    end
  end
  return models
end
