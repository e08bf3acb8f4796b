-- Assign the replicas of a load to workers that are registered, not draining, and have the memory.

-- Return the memory (MiB), by memory id, that is promised and not in use yet: the estimates of the replicas that
-- load, and the reservations of the loads that wait for an unload, except that of the model `except`. It looks
-- at these replicas and loads only.
local function promised_mib(except)
  local sums = {}
  local function add(memory, mib) sums[memory] = (sums[memory] or 0) + mib end
  for _, model in ipairs(redis.call('ZRANGE', P .. 'evicting', 0, -1)) do
    local reserved = redis.call('HGET', model_key(model), 'reserved')
    if model ~= except and reserved and reserved ~= '' then
      for memory, mib in pairs(cjson.decode(reserved)) do add(memory, mib) end
    end
  end
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'loading_replicas')) do
    local state, need_mib, worker = read_fields(replica_key(replica), 'state', 'need_mib', 'worker')
    if state == 'assigned' or state == 'starting' then
      local memory = redis.call('HGET', worker_key(worker), 'memory_id')
      if memory and memory ~= '' then add(memory, tonumber(need_mib) or 0) end
    end
  end
  return sums
end

-- Check a placement: pairs replica, worker, ... from ARGV[first] on; need: MiB per replica, or ''. Returns
-- nil, or {gone, worker} when a worker left or began to drain since it was chosen, or {short, worker} when
-- its memory was promised to another load since then. `model`: the model to be placed.
local function placement_error(first, need, model)
  local promised
  for at = first + 1, #ARGV, 2 do
    local incarnation, draining, memory_id, free_mib =
      read_fields(worker_key(ARGV[at]), 'incarnation', 'draining', 'memory_id', 'free_mib')
    if not incarnation or draining then return { 'gone', ARGV[at] } end
    if need ~= '' and memory_id and memory_id ~= '' then
      promised = promised or promised_mib(model)
      promised[memory_id] = (promised[memory_id] or 0) + tonumber(need)
      if promised[memory_id] > tonumber(free_mib) then return { 'short', ARGV[at] } end
    end
  end
  return nil
end

-- The arguments of one command are limited.
local LISTED_AT_ONCE = 1000

local function assign_replicas(model, operation, first, need, lease)
  if operation ~= '' then
    redis.call('HSET', P .. 'operation:' .. operation, 'stage', 'waiting for a worker', 'began_us', text(NOW))
  end
  local override = redis.call('HGET', model_key(model), 'override') or '{}'
  local replicas = {}
  local function list_replicas()
    redis.call('SADD', P .. 'replicas:' .. model, unpack(replicas))
    redis.call('SADD', P .. 'loading_replicas', unpack(replicas))
    replicas = {}
  end
  for at = first, #ARGV, 2 do
    local replica, worker = ARGV[at], ARGV[at + 1]
    redis.call('HSET', replica_key(replica), 'model', model, 'worker', worker, 'state', 'assigned',
      'operation', operation, 'progress', '0', 'lease_us', lease, 'override', override, 'need_mib', need)
    redis.call('SADD', P .. 'worker_replicas:' .. worker, replica)
    replicas[#replicas + 1] = replica
    if #replicas == LISTED_AT_ONCE then list_replicas() end
  end
  if #replicas > 0 then list_replicas() end
end
