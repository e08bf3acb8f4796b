-- Reserve slots for the next jobs in the queue: each becomes `running` with a new fence, and its claim message
-- goes to the worker of the slot.
--
-- A slot is a field of `slots:<replica>`, not a counter: freeing it twice is harmless.
-- `ready:<model>` holds the replicas that accept jobs, by the share of their slots that is taken (1: all).

-- One call dispatches at most so many jobs; `expire` continues.
local MAX_DISPATCHES = 100
local dispatches_left = MAX_DISPATCHES

local finish -- ends a job; `include/finish_job.lua` defines it

-- Record work that this call leaves for `expire`, as a JSON array; `unfinished` has them by the time of the
-- record:
--   ["slots", replica, code, message]: the replica is gone: its jobs are requeued, or fail with this code
--   ["waiting", model, code, message]: the model will not be served: its waiting jobs fail with this code
--   ["cancel", model, tenant, time (us)]: the tenant's jobs that were admitted until then are cancelled
--   ["dispatch", model]: jobs may wait for the model while it has free slots
local function record_unfinished(...)
  redis.call('ZADD', P .. 'unfinished', 'NX', text(NOW), cjson.encode({ ... }))
end

-- A script that is called by a worker sets its incarnation: the claims for it are part of the reply.
local caller_incarnation, claims = nil, {}

-- Slots that were freed and do not count as free yet: {[model] = {[replica] = its number of slots}}.
local freed = {}

-- Further models to dispatch for: the tenant of a job that ended had reached its bound.
local released = {}

-- Free the slot of a running job. The script calls `dispatch` afterwards, which offers the slot.
local function free_slot(id, job)
  redis.call('HDEL', slots_key(job.replica), id)
  count_run(job.model, job.tenant, job.priority, -1)
  if job.counted == '1' then
    count_bounded_run(job.tenant, -1)
    for _, model in ipairs(release_held(job.tenant)) do released[model] = true end
  end
  freed[job.model] = freed[job.model] or {}
  freed[job.model][job.replica] = tonumber(job.slots)
end

local function offer_freed_slots(model)
  for replica, slots in pairs(freed[model] or {}) do
    -- XX: a replica that accepts no more jobs is not in the set
    redis.call('ZADD', P .. 'ready:' .. model, 'XX', redis.call('HLEN', slots_key(replica)) / slots, replica)
  end
  freed[model] = nil
end

-- Return the replica whose turn it is among the ready ones with this share of taken slots.
local function replica_in_turn(model, share)
  local ready = P .. 'ready:' .. model
  local equals = redis.call('ZCOUNT', ready, share, share)
  local turn = redis.call('HINCRBY', model_key(model), 'rotation', 1) % equals
  return redis.call('ZRANGE', ready, turn, turn)[1]
end

-- Return the ready replica with the smallest share of taken slots (round robin among equals), and that share; nil when all
-- slots are taken. A job about the state in a replica has this one as `wanted`, if it is ready: it computes nothing, so one
-- such job may run beside those of all slots. With `keeps_turn` any of equals is returned, and the third value is whether
-- there are some: the caller may not need the one whose turn it is.
local function least_loaded_replica(model, wanted, keeps_turn)
  local ready = P .. 'ready:' .. model
  local taken = wanted and tonumber(redis.call('ZSCORE', ready, wanted))
  if taken and taken <= 1 then return wanted, taken end
  local first = redis.call('ZRANGE', ready, 0, 1, 'WITHSCORES')
  local replica, share, other_share = first[1], tonumber(first[2]), tonumber(first[4])
  if not replica or share >= 1 then return nil end
  if keeps_turn then return replica, share, share == other_share end
  if share == other_share then replica = replica_in_turn(model, share) end
  return replica, share
end

-- Charge a job that a replica runs. prefixes: those of its prompt, or nil; score, lowest, waited_ms: as `charge` has them.
-- Returns its field `reuse`, `<tokens> <mark> <estimate> <charged>`, if the model chooses by prefixes: the tokens that the
-- engine probably does not compute again; the mark of that prefix if it must be stored, else -; of a job with prefixes, three
-- words about the estimate of its prompt (`note` of `read_prefixes`); and what the tenant was charged.
local function charge_run(model, tenant, priority, replica, prefixes, cost, weight, score, lowest, waited_ms)
  local chooses = tonumber(read_usage(model).values['@deficit'] or nil)
  local tokens, mark, charged, estimate = 0, '-', tonumber(cost), nil
  if prefixes then tokens, mark, estimate = prefixes.note(replica) end
  if chooses then charged = charged_cost(model, charged, tokens) end
  charge(model, tenant, priority, score, lowest, charged / tonumber(weight), waited_ms)
  return chooses and table.concat({ text(tokens), mark, estimate or charged, estimate and charged }, ' ')
end

-- Take a slot for a job and send its claim message. Returns the fields and values to write to the job's hash.
local function run_job(id, model, tenant, replica, share, attempt, run_by_us, subscribers, generation, reuse)
  local known = read_replica(replica)
  local worker, incarnation, slots, lease_us = known.worker, known.incarnation, known.slots, known.lease_us
  local fence = next_fence()
  redis.call('HSET', slots_key(replica), id, slot_value(fence, subscribers))
  redis.call('ZADD', P .. 'ready:' .. model, (math.floor(share * slots + 0.5) + 1) / slots, replica)
  redis.call('ZADD', P .. 'leases', text(NOW + tonumber(lease_us)), id)
  local last = attempt == '1' and 0 or log_length(id)
  local message = claim_message(id, fence, replica, last, attempt, generation)
  if incarnation == caller_incarnation then claims[#claims + 1] = message
  else redis.call('RPUSH', claims_key(incarnation), message) end
  local fields = { 'status', 'running', 'attempts', attempt, 'replica', replica, 'slots', slots, 'worker', worker,
    'fence', fence, 'claimed_us', text(NOW), 'run_by_us', run_by_us }
  local _, bound = weight_and_bound(model, tenant)
  if bound > 0 then
    count_bounded_run(tenant, 1)
    fields[#fields + 1] = 'counted'
    fields[#fields + 1] = '1'
  end
  if reuse then
    fields[#fields + 1] = 'reuse'
    fields[#fields + 1] = reuse
  end
  return fields
end

-- Dispatch the next jobs of one model while it has free slots.
local function dispatch_model(model)
  offer_freed_slots(model)
  while next(waiting_priorities(model)) do
    local replica, share = least_loaded_replica(model)
    if not replica then break end
    if dispatches_left <= 0 then
      record_unfinished('dispatch', model)
      break
    end
    local id, tenant, priority, score, lowest = next_job(model, replica)
    if not id then break end
    dispatches_left = dispatches_left - 1
    local weight, cost, admitted_us, attempts, run_by_us, max_run_us, subscribers, generation, wanted, keys, warm =
      read_fields(job_key(id), 'weight', 'cost', 'admitted_us', 'attempts', 'run_by_us', 'max_run_us',
        'subscribers', 'generation', 'wanted_replica', 'prefix_keys', 'warm')
    leave_warm(id, warm, priority, tenant)
    if wanted then
      replica, share = least_loaded_replica(model, wanted)
    end
    -- set by the request's own limit, or by the first attempt: a second one has the time that the first left
    run_by_us = tonumber(run_by_us) or math.huge
    if run_by_us <= NOW then
      finish(id, 'failed', { code = 'deadline_exceeded' }) -- too late for an engine
    else
      local prefixes = not wanted and read_prefixes(model, keys)
      if prefixes then replica, share = prefixes.warmest_replica(replica, share) end
      local reuse = charge_run(model, tenant, priority, replica, prefixes, cost, weight, score, lowest,
        (NOW - tonumber(admitted_us)) / 1000)
      run_by_us = text(math.min(run_by_us, max_run_us and NOW + tonumber(max_run_us) or math.huge))
      redis.call('ZADD', P .. 'deadlines', run_by_us, id)
      redis.call('HSET', job_key(id), unpack(run_job(id, model, tenant, replica, share, tostring(attempts + 1),
        run_by_us, subscribers, generation, reuse)))
    end
  end
  write_usage(model)
end

-- Dispatch the next jobs of a model, and of those at which tenants were held. Every script that has freed a slot,
-- settled usage or queued a job again calls it.
local function dispatch(model)
  released[model] = nil
  dispatch_model(model)
  for other in pairs(released) do
    released[other] = nil
    dispatch_model(other)
  end
end
