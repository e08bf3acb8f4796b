-- Assign the replicas of a load to workers that are registered, not draining, and have the memory.

-- Return the memory of a device (MiB) that is promised and not in use yet: the estimates of the loads under
-- way on it, and the reservations of the loads that wait for an unload, except that of the model `except`.
local function promised_mib(memory, except)
  local sum = 0
  for _, model in ipairs(redis.call('ZRANGE', P .. 'evicting', 0, -1)) do
    local reserved = redis.call('HGET', model_key(model), 'reserved')
    if model ~= except and reserved and reserved ~= '' then
      sum = sum + (cjson.decode(reserved)[memory] or 0)
    end
  end
  for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
    if redis.call('HGET', worker_key(worker), 'memory_id') == memory then
      for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
        local state, need_mib = read_fields(replica_key(replica), 'state', 'need_mib')
        if state == 'assigned' or state == 'starting' then sum = sum + (tonumber(need_mib) or 0) end
      end
    end
  end
  return sum
end

-- Check a placement: pairs replica, worker, ... from ARGV[first] on; need: MiB per replica, or ''. Returns
-- nil, or {gone, worker} when a worker left or began to drain since it was chosen, or {short, worker} when
-- its memory was promised to another load since then. `model`: the model to be placed.
local function placement_error(first, need, model)
  local needed = {}
  for at = first + 1, #ARGV, 2 do
    local incarnation, draining, memory_id, free_mib =
      read_fields(worker_key(ARGV[at]), 'incarnation', 'draining', 'memory_id', 'free_mib')
    if not incarnation or draining then return { 'gone', ARGV[at] } end
    if need ~= '' and memory_id and memory_id ~= '' then
      needed[memory_id] = (needed[memory_id] or promised_mib(memory_id, model)) + tonumber(need)
      if needed[memory_id] > tonumber(free_mib) then return { 'short', ARGV[at] } end
    end
  end
  return nil
end

local function assign_replicas(model, operation, first, need, lease)
  if operation ~= '' then
    redis.call('HSET', P .. 'operation:' .. operation, 'stage', 'waiting for a worker', 'began_us', text(NOW))
  end
  local override = redis.call('HGET', model_key(model), 'override') or '{}'
  for at = first, #ARGV, 2 do
    local replica, worker = ARGV[at], ARGV[at + 1]
    redis.call('HSET', replica_key(replica), 'model', model, 'worker', worker, 'state', 'assigned',
      'operation', operation, 'progress', '0', 'lease_us', lease, 'override', override, 'need_mib', need)
    redis.call('SADD', P .. 'replicas:' .. model, replica)
    redis.call('SADD', P .. 'worker_replicas:' .. worker, replica)
  end
end
