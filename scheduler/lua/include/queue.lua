-- The queue of a model. The next job is chosen in three steps: a priority, a tenant of that priority, a job
-- of that tenant.
--
-- `fair_share:<model>:<priority>` holds the tenants with waiting jobs, scored by the tokens they were
-- served so far divided by their weight: the tenant with the lowest score is next.
-- `queue:<model>:<priority>:<tenant>` holds the tenant's jobs by admission time.
--
-- High goes before normal before low, except that a lower priority that was skipped MAX_SKIPS times while
-- it had jobs goes next: otherwise a busy high priority would starve it.
local MAX_SKIPS = { high = 0, normal = 4, low = 16 }

local function served(model, tenant)
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  return math.max(tonumber(redis.call('HGET', P .. 'served:' .. model, tenant)) or 0, floor)
end

local function set_served(model, tenant, amount)
  redis.call('HSET', P .. 'served:' .. model, tenant, amount)
  for _, priority in ipairs(PRIORITIES) do
    redis.call('ZADD', fair_share_key(model, priority), 'XX', amount, tenant)
  end
end

local function charge(model, tenant, weight, tokens)
  if tokens ~= 0 then set_served(model, tenant, served(model, tenant) + tokens / weight) end
end

-- Replace the estimate that was charged at the dispatch by the tokens really used: `tokens` is the
-- difference. It is added to the tenant's own account, not to the floor: what other tenants were served in
-- the meantime does not matter.
local function settle_usage(model, tenant, weight, tokens)
  if tokens == 0 then return end
  local before = tonumber(redis.call('HGET', P .. 'served:' .. model, tenant)) or 0
  local after = before + tokens / weight
  redis.call('HSET', P .. 'served:' .. model, tenant, after)
  for _, priority in ipairs(PRIORITIES) do
    local score = tonumber(redis.call('ZSCORE', fair_share_key(model, priority), tenant))
    -- a tenant whose score was raised to the floor when it joined keeps that score
    if score and (score == before or after > score) then
      redis.call('ZADD', fair_share_key(model, priority), after, tenant)
    end
  end
end

-- Queue a job by its admission time: a job that is queued again stands before jobs that were admitted later.
local function join_queue(id, model, priority, tenant, admitted)
  -- a tenant that was idle starts at the floor: it does not accumulate credit
  redis.call('ZADD', fair_share_key(model, priority), 'NX', served(model, tenant), tenant)
  redis.call('ZADD', queue_key(model, priority, tenant), text(admitted), id)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted), id)
end

local function leave_queue(id, model, priority, tenant)
  redis.call('ZREM', queue_key(model, priority, tenant), id)
  redis.call('ZREM', P .. 'waiting:' .. model, id)
  if redis.call('EXISTS', queue_key(model, priority, tenant)) == 0 then
    redis.call('ZREM', fair_share_key(model, priority), tenant)
    -- the count of skips belongs to the waiting jobs: an empty priority starts again at 0
    if redis.call('EXISTS', fair_share_key(model, priority)) == 0 then
      redis.call('HDEL', P .. 'skipped:' .. model, priority)
    end
  end
end

local function next_priority(model)
  local skipped, chosen = P .. 'skipped:' .. model, nil
  local waiting = {}
  for _, priority in ipairs(PRIORITIES) do
    if redis.call('EXISTS', fair_share_key(model, priority)) == 1 then waiting[#waiting + 1] = priority end
  end
  if #waiting < 2 then
    if #waiting == 1 then redis.call('HDEL', skipped, waiting[1]) end
    return waiting[1]
  end
  chosen = waiting[1]
  for position = 2, #waiting do
    local priority = waiting[position]
    local skips = tonumber(redis.call('HGET', skipped, priority)) or 0
    if skips >= MAX_SKIPS[priority] then chosen = priority end
  end
  for _, priority in ipairs(waiting) do
    if priority == chosen then redis.call('HDEL', skipped, priority)
    else redis.call('HINCRBY', skipped, priority, 1) end
  end
  return chosen
end

-- Remove the next job from the queue, charge its estimated cost, and return its id; nil when the queue is
-- empty.
local function next_job(model)
  local priority = next_priority(model)
  if not priority then return nil end
  local first = redis.call('ZRANGE', fair_share_key(model, priority), 0, 0, 'WITHSCORES')
  local tenant, score = first[1], tonumber(first[2])
  local id = redis.call('ZRANGE', queue_key(model, priority, tenant), 0, 0)[1]
  leave_queue(id, model, priority, tenant)
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  if score > floor then redis.call('HSET', P .. 'served:' .. model, '@floor', score) end
  local weight, cost = read_fields(job_key(id), 'weight', 'cost')
  charge(model, tenant, tonumber(weight), tonumber(cost))
  return id
end
