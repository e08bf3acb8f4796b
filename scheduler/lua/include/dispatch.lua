-- Reserve slots for the next jobs in the queue, and send wake-up messages to the workers.
-- A slot is membership in `slots:<replica>`, not a counter: freeing it twice is harmless.

-- Return the ready replica with the smallest share of taken slots (round robin among equals), or nil when all
-- slots are taken.
local function least_loaded_replica(model)
  local replicas = redis.call('SMEMBERS', P .. 'ready:' .. model)
  if #replicas == 0 then return nil end
  local start = 0
  if #replicas > 1 then
    table.sort(replicas)
    start = (tonumber(redis.call('HGET', model_key(model), 'rotation')) or 0) % #replicas
  end
  local best, best_load = nil, 1
  for step = 0, #replicas - 1 do
    local replica = replicas[(start + step) % #replicas + 1]
    local slots = tonumber(redis.call('HGET', replica_key(replica), 'slots'))
    local load = redis.call('SCARD', slots_key(replica)) / slots
    if load < best_load then best, best_load = replica, load end
  end
  return best
end

-- Push the worker's wake-up message, which it gave when it registered; only the job's id varies.
local function notify(worker, id)
  local wake_up_list, wake_up_message = read_fields(worker_key(worker), 'wake_up_list', 'wake_up_message')
  if wake_up_list then redis.call('LPUSH', wake_up_list, (string.gsub(wake_up_message, '@ID@', id))) end
end

local function dispatch(model)
  while redis.call('EXISTS', P .. 'waiting:' .. model) == 1 do
    local replica = least_loaded_replica(model)
    local id = replica and next_job(model)
    if not id then return end
    local worker, lease_us = read_fields(replica_key(replica), 'worker', 'lease_us')
    redis.call('HINCRBY', model_key(model), 'rotation', 1)
    redis.call('SADD', slots_key(replica), id)
    redis.call('ZADD', P .. 'leases', text(NOW + tonumber(lease_us)), id)
    redis.call('HSET', job_key(id), 'status', 'dispatched', 'replica', replica, 'worker', worker,
      'dispatched_us', text(NOW))
    notify(worker, id)
  end
end
