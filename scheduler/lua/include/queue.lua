-- The queue of a model. The next job is chosen in three steps: a priority, a tenant of that priority
-- (`fair_choice`), and the tenant's oldest job, unless another one reuses what the replica has computed (`warm_jobs`).
--
-- `fair_share:<model>:<priority>` holds the tenants with waiting jobs, scored by the tokens they were
-- served so far divided by their weight.
-- `queue:<model>:<priority>:<tenant>` holds the tenant's jobs by admission time.
-- include: scheduler/usage
-- include: scheduler/fair_choice
-- include: scheduler/slot_limits
-- include: scheduler/delayed_jobs

-- ---- the queue

-- Queue a job by its admission time: a job that is queued again stands before jobs that were admitted later. score: of its
-- tenant, if that waits for no other job; nil: what it was served, at least the level of idle tenants.
local function join_queue(id, model, priority, tenant, admitted, score)
  if not waiting_priorities(model)[priority] then set_skips(model, priority, 0) end
  redis.call('ZADD', fair_share_key(model, priority), 'NX', score or served(model, tenant), tenant)
  redis.call('ZADD', queue_key(model, priority, tenant), text(admitted), id)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted), id)
end

-- Remove a job from the queue. is_last: whether it is its tenant's last job of this priority; is_alone: whether
-- the tenant is the only one with jobs of this priority; nil when the caller does not know.
local function leave_queue(id, model, priority, tenant, is_last, is_alone)
  local queue, fair_share = queue_key(model, priority, tenant), fair_share_key(model, priority)
  redis.call('ZREM', queue, id)
  redis.call('ZREM', P .. 'waiting:' .. model, id)
  if is_last == nil then is_last = redis.call('EXISTS', queue) == 0 end
  if not is_last then return end
  redis.call('ZREM', fair_share, tenant)
  if is_alone == nil then is_alone = redis.call('EXISTS', fair_share) == 0 end
  -- the count of skips belongs to the waiting jobs: an empty priority starts again at 0
  if is_alone then set_skips(model, priority, nil) end
end

-- ---- the choice of the next job

-- Return the tenants of a priority at these places (from 1) with what they are chosen by, and their score.
local function read_candidates(model, priority, first, last)
  local names, scores = {}, {}
  local flat = redis.call('ZRANGE', fair_share_key(model, priority), first - 1, last - 1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    names[#names + 1] = flat[at]
    scores[#scores + 1] = tonumber(flat[at + 1])
  end
  local tenants = read_slot_limits(model, names)
  for place, tenant in ipairs(tenants) do
    tenant.score = scores[place]
    if reaches_bound(tenant.bound, tenant.bounded, tenant.running) then hold(model, tenant.name) end
  end
  return tenants
end

-- Return the choice of the next waiting job (`choose_tenant`); nil when none may take a slot.
local function next_in_queue(model)
  local choice = choose_tenant(waiting_priorities(model), kept_slots(read_usage(model).values), function(...)
    return read_candidates(model, ...)
  end)
  if choice then keep_usage(model, choice.tenant) end
  return choice
end

-- Remove the next job for a slot of this replica from the queue; returns its id, its tenant and priority, the tenant's score,
-- the lowest score, and whether the job was delayed for this replica; nil when no waiting job may take a slot.
local function next_job(model, replica)
  local choice = next_in_queue(model)
  if not choice then return nil end
  local priority, tenant = choice.priority, choice.tenant
  local jobs = redis.call('ZRANGE', queue_key(model, priority, tenant.name), 0, 1, 'WITHSCORES')
  local id, is_last, is_alone = jobs[1], #jobs == 2, choice.is_alone
  local function count_skips(chosen)
    for other, skips in pairs(waiting_priorities(model)) do set_skips(model, other, skips_after(other, chosen, skips)) end
  end
  local delayed = next_delayed(model, replica, choice, tonumber(jobs[2]))
  if delayed and end_delay(model, delayed.member, delayed.id) then
    count_skips(delayed.priority)
    local score = read_usage(model).values[delayed.tenant]
    return delayed.id, delayed.tenant, delayed.priority, score, choice.lowest.score, true
  end
  local warm = next_warm(model, replica, choice, tonumber(jobs[2]))
  if warm and warm.tenant ~= tenant then
    keep_usage(model, warm.tenant)
    tenant, is_last, is_alone = warm.tenant, nil, nil
  end
  count_skips(priority)
  if warm then id = warm.id end
  leave_queue(id, model, priority, tenant.name, is_last, is_alone)
  return id, tenant.name, priority, tenant.score, choice.lowest.score
end
