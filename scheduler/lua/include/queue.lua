-- The queue of a model. The next job is chosen in three steps: a priority, a tenant of that priority, a job
-- of that tenant.
--
-- `skipped:<model>` has the priorities with waiting jobs, and how often each was skipped.
-- `fair_share:<model>:<priority>` holds the tenants with waiting jobs, scored by the tokens they were
-- served so far divided by their weight: the tenant with the lowest score is next.
-- `queue:<model>:<priority>:<tenant>` holds the tenant's jobs by admission time.
--
-- High goes before normal before low, except that a lower priority that was skipped MAX_SKIPS times while
-- it had jobs goes next: otherwise a busy high priority would starve it.
local MAX_SKIPS = { high = 0, normal = 4, low = 16 }

-- What this script has read of `skipped:<model>`, as {[model] = {[priority] = skips}}.
local skips_by_model = {}

-- Return how often each priority with waiting jobs was skipped; an empty table when no job waits.
local function waiting_priorities(model)
  if not skips_by_model[model] then
    local flat, skips = redis.call('HGETALL', P .. 'skipped:' .. model), {}
    for at = 1, #flat, 2 do skips[flat[at]] = tonumber(flat[at + 1]) end
    skips_by_model[model] = skips
  end
  return skips_by_model[model]
end

local function set_skips(model, priority, skips)
  waiting_priorities(model)[priority] = skips
  if skips then redis.call('HSET', P .. 'skipped:' .. model, priority, skips)
  else redis.call('HDEL', P .. 'skipped:' .. model, priority) end
end

-- ---- usage

-- What this script has read and changed of `served:<model>`: {[model] = {values = {}, changed = {}}}.
local usage_by_model = {}

-- Return the usage of a model with the fields of this tenant, and those of all: '@floor' is the level at which
-- an idle tenant starts (it does not accumulate credit), '@wait_ms' the average wait, '@run_ms' the average run.
local function read_usage(model, tenant)
  local usage = usage_by_model[model]
  if not usage then
    usage = { values = {}, changed = {} }
    usage_by_model[model] = usage
  end
  local values = usage.values
  if values[tenant] == nil then
    local own, floor, wait_ms, run_ms =
      read_fields(P .. 'served:' .. model, tenant, '@floor', '@wait_ms', '@run_ms')
    values[tenant] = tonumber(own) or 0
    if not values['@floor'] then
      values['@floor'], values['@wait_ms'] = tonumber(floor) or 0, tonumber(wait_ms) or false
      values['@run_ms'] = tonumber(run_ms) or false
    end
  end
  return usage
end

local function set_usage(usage, field, value)
  usage.values[field], usage.changed[field] = value, true
end

-- Write what was changed. `dispatch` calls it.
local function write_usage(model)
  local usage, fields = usage_by_model[model], {}
  if not usage then return end
  for field in pairs(usage.changed) do
    fields[#fields + 1] = field
    fields[#fields + 1] = usage.values[field]
  end
  if #fields > 0 then redis.call('HSET', P .. 'served:' .. model, unpack(fields)) end
  usage.changed = {}
end

-- Return the tokens that a tenant was served, divided by its weight; for an idle tenant at least the floor.
local function served(model, tenant)
  local values = read_usage(model, tenant).values
  return math.max(values[tenant], values['@floor'])
end

-- Charge a dispatched job's estimated cost (divided by the weight) to its tenant. score: the tenant's score in
-- the queue, nil when the job was not queued; the level of idle tenants rises to it. waited_ms: each new job
-- counts one fifth of the average, the `avgWaitMs` of 503 queue_full.
local function charge(model, tenant, score, cost, waited_ms)
  local usage = read_usage(model, tenant)
  local before, average = served(model, tenant), usage.values['@wait_ms'] or waited_ms
  score = score or before
  if score > usage.values['@floor'] then set_usage(usage, '@floor', score) end
  local after = math.max(before, score) + cost
  set_usage(usage, tenant, after)
  set_usage(usage, '@wait_ms', math.floor(average * 0.8 + waited_ms * 0.2))
  for priority in pairs(waiting_priorities(model)) do
    redis.call('ZADD', fair_share_key(model, priority), 'XX', after, tenant)
  end
end

-- Replace the estimate that was charged at the dispatch by the tokens really used: `tokens` is the
-- difference. It is added to the tenant's own account, not to the floor: what other tenants were served in
-- the meantime does not matter.
local function settle_usage(model, tenant, weight, tokens)
  if tokens == 0 then return end
  local waiting, share = waiting_priorities(model), tokens / weight
  if not next(waiting) and not usage_by_model[model] then
    redis.call('HINCRBYFLOAT', P .. 'served:' .. model, tenant, share)
    return
  end
  local usage = read_usage(model, tenant)
  local before = usage.values[tenant]
  local after = before + share
  set_usage(usage, tenant, after)
  for priority in pairs(waiting) do
    local score = tonumber(redis.call('ZSCORE', fair_share_key(model, priority), tenant))
    -- a tenant whose score was raised to the floor when it joined keeps that score
    if score and (score == before or after > score) then
      redis.call('ZADD', fair_share_key(model, priority), after, tenant)
    end
  end
end

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

local function next_priority(model)
  local waiting, chosen = waiting_priorities(model), nil
  for _, priority in ipairs(PRIORITIES) do
    local skips = waiting[priority]
    if skips and (not chosen or skips >= MAX_SKIPS[priority]) then chosen = priority end
  end
  for priority, skips in pairs(waiting) do
    if priority ~= chosen then set_skips(model, priority, skips + 1) end
  end
  return chosen
end

-- Remove the next job from a queue that is not empty; returns its id, its tenant and the tenant's score.
local function next_job(model)
  local priority = next_priority(model)
  local tenants = redis.call('ZRANGE', fair_share_key(model, priority), 0, 1, 'WITHSCORES')
  local tenant, score = tenants[1], tonumber(tenants[2])
  local jobs = redis.call('ZRANGE', queue_key(model, priority, tenant), 0, 1)
  leave_queue(jobs[1], model, priority, tenant, #jobs == 1, #tenants == 2)
  local skips = waiting_priorities(model)[priority]
  if skips and skips > 0 then set_skips(model, priority, 0) end
  return jobs[1], tenant, score
end
