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

-- Give a slot of this replica to a job that is in no queue, or end it if it is too late. A job that is not pinned to it may
-- start on another replica that saves more, or be delayed. score, lowest: as `charge` has them.
local function start_job(id, model, tenant, priority, replica, share, score, lowest, is_pinned)
  dispatches_left = dispatches_left - 1
  local weight, cost, admitted_us, attempts, run_by_us, max_run_us, subscribers, generation, wanted, keys, warm, was_delayed,
    max_wait_us =
    read_fields(job_key(id), 'weight', 'cost', 'admitted_us', 'attempts', 'run_by_us', 'max_run_us',
      'subscribers', 'generation', 'wanted_replica', 'prefix_keys', 'warm', 'was_delayed', 'max_wait_us')
  leave_warm(id, warm, priority, tenant)
  -- set by the request's own limit, or by the first attempt: a second one has the time that the first left
  run_by_us = tonumber(run_by_us) or math.huge
  if run_by_us <= NOW then return finish(id, 'failed', { code = 'deadline_exceeded' }) end -- too late for an engine
  local prefixes = not wanted and read_prefixes(model, keys)
  if wanted then replica, share = least_loaded_replica(model, wanted)
  elseif prefixes and not is_pinned then
    replica, share = prefixes.warmest_replica(replica, share)
    local latest_us = math.min(run_by_us, tonumber(admitted_us) + tonumber(max_wait_us))
    local delay = not was_delayed and choose_delay(model, tenant, replica, prefixes, latest_us)
    if delay then
      local field = delay_job(id, model, priority, tenant, weight, cost, admitted_us, score, delay)
      if warm then redis.call('HDEL', job_key(id), 'warm') end
      return redis.call('HSET', job_key(id), 'delayed', field)
    end
  end
  local reuse = charge_run(model, tenant, priority, replica, prefixes, cost, weight, score, lowest,
    not was_delayed and (NOW - tonumber(admitted_us)) / 1000)
  run_by_us = text(math.min(run_by_us, max_run_us and NOW + tonumber(max_run_us) or math.huge))
  redis.call('ZADD', P .. 'deadlines', run_by_us, id)
  local fields = run_job(id, model, tenant, replica, share, tostring(attempts + 1), run_by_us, subscribers, generation, reuse)
  local load_us = read_replica(replica).up_us - tonumber(admitted_us)
  if load_us > 0 then -- it waited until this replica was up
    fields[#fields + 1] = 'load_us'
    fields[#fields + 1] = text(load_us)
  end
  redis.call('HSET', job_key(id), unpack(fields))
end

-- Let a delayed job take a slot of any replica, in its turn.
local function return_to_queue(model, delayed)
  local id = delayed.id
  local job = end_delay(model, delayed.member, id)
  if not job then return end
  local warm = join_warm(id, job.priority, job.tenant, read_prefixes(model, redis.call('HGET', job_key(id), 'prefix_keys')))
  if warm then redis.call('HSET', job_key(id), 'warm', warm) end
  join_queue(id, model, job.priority, job.tenant, tonumber(job.admitted_us), read_usage(model).values[job.tenant])
end

-- Return the delayed jobs whose replica accepts jobs, and the shares of taken slots by replica. Those whose wait is over, and
-- those whose replica accepts no more jobs, join the queue.
local function read_delayed(model)
  local jobs, replicas, shares, left = delayed_jobs(model), {}, {}, {}
  for at, job in ipairs(jobs) do replicas[at] = job.replica end
  for at, share in ipairs(#jobs > 0 and redis.call('ZMSCORE', P .. 'ready:' .. model, unpack(replicas)) or {}) do
    shares[replicas[at]] = tonumber(share or nil)
  end
  for _, job in ipairs(jobs) do
    if shares[job.replica] and job.until_us > NOW then left[#left + 1] = job else return_to_queue(model, job) end
  end
  return left, shares
end

-- Give the slots that no job of the queue takes to delayed jobs of their replicas.
local function start_delayed(model)
  local jobs, shares = read_delayed(model)
  if jobs[1] then dispatch_delayed_at(model, jobs[1].until_us) end -- `expire` may have removed what was noted before
  for _, job in ipairs(jobs) do
    local share = shares[job.replica]
    local blocked_by = share < 1 and obstacle_of(model, job.tenant, job.priority)
    if blocked_by == 'max_running' then hold(model, job.tenant)
    elseif share < 1 and dispatches_left <= 0 then record_unfinished('dispatch', model)
    elseif share < 1 and not blocked_by and end_delay(model, job.member, job.id) then
      start_job(job.id, model, job.tenant, job.priority, job.replica, share, read_usage(model).values[job.tenant], nil, true)
      shares[job.replica] = tonumber(redis.call('ZSCORE', P .. 'ready:' .. model, job.replica))
    end
  end
end

-- Dispatch the next jobs of one model while it has free slots.
local function dispatch_model(model)
  offer_freed_slots(model)
  read_delayed(model)
  while next(waiting_priorities(model)) do
    local replica, share = least_loaded_replica(model)
    if not replica then break end
    if dispatches_left <= 0 then
      record_unfinished('dispatch', model)
      break
    end
    local id, tenant, priority, score, lowest, is_pinned = next_job(model, replica)
    if not id then break end
    start_job(id, model, tenant, priority, replica, share, score, lowest, is_pinned)
  end
  start_delayed(model)
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
