-- The queue of a model. The next job is chosen in three steps: a priority, a tenant of that priority, a job
-- of that tenant.
--
-- `fair_share:<model>:<priority>` holds the tenants with waiting jobs, scored by the tokens they were
-- served so far divided by their weight.
-- `queue:<model>:<priority>:<tenant>` holds the tenant's jobs by admission time.
--
-- High goes before normal before low, except that a lower priority that was skipped MAX_SKIPS times while
-- it had jobs goes next: otherwise a busy high priority would starve it.
-- include: scheduler/usage
-- include: scheduler/slot_limits
local MAX_SKIPS = { high = 0, normal = 4, low = 16 }

-- ---- the queue

-- Queue a job by its admission time: a job that is queued again stands before jobs that were admitted later.
local function join_queue(id, model, priority, tenant, admitted)
  if not waiting_priorities(model)[priority] then set_skips(model, priority, 0) end
  redis.call('ZADD', fair_share_key(model, priority), 'NX', served(model, tenant), tenant)
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

-- So many tenants of a priority are compared at a time, those first that were served least. To read what one of them
-- runs costs as much as three commands.
local TENANTS_COMPARED = 16

-- Return the first of these tenants that may take a slot and does not run more than its share: no other one of them
-- would, with one job more, still run at most as many for its weight. Returns the first that may take a slot, too.
local function first_within_share(model, tenants)
  local candidates, least, only_reserve = {}, math.huge, only_reserve_is_free(model)
  local known = read_slot_limits(model, tenants)
  for _, tenant in ipairs(known) do
    if tenant.bound > 0 and math.max(bounded_runs[tenant.name], tenant.running) >= tenant.bound then
      hold(model, tenant.name)
    elseif tenant.running == 0 or not only_reserve then
      least = math.min(least, (tenant.running + 1) / tenant.weight)
      candidates[#candidates + 1] = tenant
    end
  end
  for _, tenant in ipairs(candidates) do
    if tenant.running / tenant.weight < least then
      keep_usage(model, tenant)
      return tenant.name, candidates[1].name
    end
  end
  return nil
end

-- Return the tenant of this priority that goes next, its score, the lowest score of those that may take a slot, and
-- whether it is the only one that waits; nil when none of them may take a slot.
local function next_tenant(model, priority)
  local first = 0
  repeat
    local last, tenants, scores = first + TENANTS_COMPARED - 1, {}, {}
    local flat = redis.call('ZRANGE', fair_share_key(model, priority), first, last, 'WITHSCORES')
    for at = 1, #flat, 2 do
      tenants[#tenants + 1] = flat[at]
      scores[flat[at]] = tonumber(flat[at + 1])
    end
    local tenant, lowest = first_within_share(model, tenants)
    if tenant then return tenant, scores[tenant], scores[lowest], first == 0 and #tenants == 1 end
    first = last + 1
  until #tenants < TENANTS_COMPARED
  return nil
end

-- Return the priority that goes next, and what `next_tenant` returns for it; nil when no waiting job may take a slot.
local function next_in_queue(model)
  local waiting, order = waiting_priorities(model), {}
  for _, priority in ipairs(PRIORITIES) do
    local skips = waiting[priority]
    if skips then table.insert(order, skips >= MAX_SKIPS[priority] and 1 or #order + 1, priority) end
  end
  for _, priority in ipairs(order) do
    local tenant, score, lowest, is_alone = next_tenant(model, priority)
    if tenant then return priority, tenant, score, lowest, is_alone end
  end
  return nil
end

-- Remove the next job from the queue; returns its id, its tenant, the tenant's score and the lowest score; nil when no
-- waiting job may take a slot.
local function next_job(model)
  local priority, tenant, score, lowest, is_alone = next_in_queue(model)
  if not priority then return nil end
  for other, skips in pairs(waiting_priorities(model)) do
    set_skips(model, other, other == priority and 0 or skips + 1)
  end
  local jobs = redis.call('ZRANGE', queue_key(model, priority, tenant), 0, 1)
  leave_queue(jobs[1], model, priority, tenant, #jobs == 1, is_alone)
  return jobs[1], tenant, score, lowest
end
