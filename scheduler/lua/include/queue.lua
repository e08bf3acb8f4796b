-- Who waits: priority picks the priority, fairness picks the tenant, order picks the job.
--
-- `turn:<model>:<priority>` holds the tenants that wait there, scored by what they were served already (tokens
-- divided by weight): the least served is next. `line:<model>:<priority>:<tenant>` holds its jobs by admission.
-- A lower priority that was skipped over MAX_SKIPS times while it had jobs gets the next turn: strict priority
-- would let a busy high priority starve it for ever.
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

-- The estimate that was charged gives way to the truth, on the tenant's own account: what others were served
-- meanwhile is neither forgiven nor held against it.
local function settle_usage(model, tenant, weight, tokens)
  if tokens == 0 then return end
  local before = tonumber(redis.call('HGET', P .. 'served:' .. model, tenant)) or 0
  local after = before + tokens / weight
  redis.call('HSET', P .. 'served:' .. model, tenant, after)
  for _, priority in ipairs(PRIORITIES) do
    local level = tonumber(redis.call('ZSCORE', fair_share_key(model, priority), tenant))
    -- one that was levelled up when it joined stays there
    if level and (level == before or after > level) then
      redis.call('ZADD', fair_share_key(model, priority), after, tenant)
    end
  end
end

-- Into line, behind the jobs admitted earlier; a job that comes back is in front again by its age.
local function join_queue(id, model, priority, tenant, admitted)
  -- who was idle starts level with the others: credit is not saved up
  redis.call('ZADD', fair_share_key(model, priority), 'NX', served(model, tenant), tenant)
  redis.call('ZADD', queue_key(model, priority, tenant), text(admitted), id)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted), id)
end

local function leave_queue(id, model, priority, tenant)
  redis.call('ZREM', queue_key(model, priority, tenant), id)
  redis.call('ZREM', P .. 'waiting:' .. model, id)
  if redis.call('EXISTS', queue_key(model, priority, tenant)) == 0 then
    redis.call('ZREM', fair_share_key(model, priority), tenant)
    -- a priority's impatience is that of its jobs, and goes with them
    if redis.call('EXISTS', fair_share_key(model, priority)) == 0 then redis.call('HDEL', P .. 'skipped:' .. model, priority) end
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
    if (tonumber(redis.call('HGET', skipped, priority)) or 0) >= MAX_SKIPS[priority] then chosen = priority end
  end
  for _, priority in ipairs(waiting) do
    if priority == chosen then redis.call('HDEL', skipped, priority) else redis.call('HINCRBY', skipped, priority, 1) end
  end
  return chosen
end

-- Take the job whose turn it is out of line, or nil.
local function next_job(model)
  local priority = next_priority(model)
  if not priority then return nil end
  local first = redis.call('ZRANGE', fair_share_key(model, priority), 0, 0, 'WITHSCORES')
  local tenant, level = first[1], tonumber(first[2])
  local id = redis.call('ZRANGE', queue_key(model, priority, tenant), 0, 0)[1]
  leave_queue(id, model, priority, tenant)
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  if level > floor then redis.call('HSET', P .. 'served:' .. model, '@floor', level) end
  local row = redis.call('HMGET', job_key(id), 'weight', 'cost')
  charge(model, tenant, tonumber(row[1]), tonumber(row[2]))
  return id
end
