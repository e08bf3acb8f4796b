-- What a model's tenants were served, and how many of their jobs run.
--
-- `served:<model>` has all that the choice of the next job needs, so that a call reads it with one command and writes
-- it with one:
--   @<priority>           how often the priority was skipped; missing or empty: no job of it waits
--   @floor                the level at which an idle tenant starts: it does not accumulate credit
--   @wait_ms, @run_ms     the average wait, and the average run of jobs that ended while others waited
--   @slots, @running      the slots of the replicas that are up, and how many jobs run
--   @background           how many of these are background jobs
--   @background_reserve   so many slots are kept from background jobs; missing or 0: none
--   @idle_us, @idle_tenant  when the latest run ended after which no job ran, and the tenant of that job
--   @reserve              one slot in so many is kept for tenants that run nothing; missing or 0: none
--   @deficit              the most tokens by which a tenant may go ahead of another one for a cached prompt (`warm_jobs`);
--                         negative: none may; missing or empty: the model does not choose so
--   @cached_weight        what a token of a reused prefix counts
--   @token_us             the average time in which a replica computes a token of a prompt
--   @delayed              how many jobs wait for the replica that has their prompts (`delayed_jobs`)
--   <tenant>              the tokens that it was served, divided by its weight
--   <tenant>:running      how many of its jobs run
--   <tenant>:limits       `<weight> <most running jobs>`, as of its latest request; 0: no bound

-- What this script has read and changed of `served:<model>`: {[model] = {values = {}, changed = {}, skips = {}}}.
local usage_by_model = {}

-- Read the fields of all and those of some tenants, with one command. A value is a number, a text, or false when it is
-- missing.
local function read_usage_of(model, tenants)
  local usage, fields = usage_by_model[model], {}
  if not usage then
    fields = { '@high', '@high_background', '@normal', '@normal_background', '@low', '@floor', '@wait_ms', '@run_ms',
      '@slots', '@running', '@background', '@reserve', '@background_reserve', '@deficit', '@cached_weight',
      '@token_us', '@delayed' }
  end
  for _, tenant in ipairs(tenants) do
    if not usage or usage.values[tenant] == nil then
      local count = #fields
      fields[count + 1], fields[count + 2], fields[count + 3] = tenant, tenant .. ':running', tenant .. ':limits'
    end
  end
  if #fields == 0 then return usage end
  local read, values = redis.call('HMGET', P .. 'served:' .. model, unpack(fields)), usage and usage.values or {}
  for at, field in ipairs(fields) do values[field] = tonumber(read[at]) or read[at] end
  if not usage then
    local skips = { high = tonumber(read[1]), high_background = tonumber(read[2]), normal = tonumber(read[3]),
      normal_background = tonumber(read[4]), low = tonumber(read[5]) }
    usage = { values = values, changed = {}, skips = skips }
    usage_by_model[model] = usage
  end
  return usage
end

-- Return the usage of a model with the fields of all, and those of a tenant, if any.
local function read_usage(model, tenant)
  local usage = usage_by_model[model]
  if usage and (not tenant or usage.values[tenant] ~= nil) then return usage end
  return read_usage_of(model, { tenant })
end

local function set_usage(usage, field, value)
  if usage.values[field] ~= value then usage.values[field], usage.changed[field] = value, true end
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

-- Return how often each priority with waiting jobs was skipped; an empty table when no job waits.
local function waiting_priorities(model) return read_usage(model).skips end

local function set_skips(model, priority, skips)
  local usage = read_usage(model)
  usage.skips[priority] = skips
  set_usage(usage, '@' .. priority, skips or '')
end

-- Return the tokens that a tenant was served, divided by its weight; for an idle tenant at least the floor.
local function served(model, tenant)
  local values = read_usage(model, tenant).values
  return math.max(values[tenant] or 0, values['@floor'] or 0)
end

-- Count a run of a tenant that begins (1) or ends (-1). A run from before an update of the platform was not counted.
local function count_run(model, tenant, priority, change)
  local usage, own = read_usage(model, tenant), tenant .. ':running'
  set_usage(usage, own, math.max(0, (usage.values[own] or 0) + change))
  local running = math.max(0, (usage.values['@running'] or 0) + change)
  set_usage(usage, '@running', running)
  if running == 0 then -- how long the model is idle, and whose it was
    set_usage(usage, '@idle_us', text(NOW))
    set_usage(usage, '@idle_tenant', tenant)
  end
  if IS_BACKGROUND[priority] then
    set_usage(usage, '@background', math.max(0, (usage.values['@background'] or 0) + change))
  end
end

-- Count the slots of a replica that came up, or of one that is gone (negative); those from before an update were not
-- counted.
local function count_slots(model, change)
  local slots = redis.call('HINCRBY', P .. 'served:' .. model, '@slots', change)
  if slots < 0 then slots = redis.call('HINCRBY', P .. 'served:' .. model, '@slots', -slots) end
  if usage_by_model[model] then usage_by_model[model].values['@slots'] = slots end
end

-- Return the average (ms) after a further value, which counts one fifth. before: nil or false without earlier ones.
local function moving_average(before, value) return math.floor((before or value) * 0.8 + value * 0.2) end

-- Count tokens (divided by the weight) that a tenant is served. score: its score in the queue, nil when the job was not queued.
-- Returns what it was served before.
local function add_served(model, tenant, score, tokens)
  local usage = read_usage(model, tenant)
  -- a tenant that waited keeps what was refunded to it, even if that is below the level of idle tenants
  local before = score and math.max(score, usage.values[tenant] or 0) or served(model, tenant)
  set_usage(usage, tenant, before + tokens)
  for waiting in pairs(waiting_priorities(model)) do
    redis.call('ZADD', fair_share_key(model, waiting), 'XX', before + tokens, tenant)
  end
  return before
end

-- Charge a dispatched job's estimated cost (divided by the weight) to its tenant, and count its run. score: the
-- tenant's score in the queue, nil when the job was not queued; lowest: the lowest score of those that were compared, to
-- which the level of idle tenants rises. waited_ms: each new job counts one fifth of the average, the `avgWaitMs` of
-- 503 queue_full; false for one that was delayed, since its wait says nothing of the queue.
local function charge(model, tenant, priority, score, lowest, cost, waited_ms)
  local before, usage = add_served(model, tenant, score, cost), read_usage(model)
  lowest = lowest or before
  if lowest > (usage.values['@floor'] or 0) then set_usage(usage, '@floor', lowest) end
  if waited_ms then set_usage(usage, '@wait_ms', moving_average(usage.values['@wait_ms'], waited_ms)) end
  count_run(model, tenant, priority, 1)
end

-- Return what a job is charged at its dispatch, of whose prompt a replica has so many tokens; its end settles it.
local function charged_cost(model, cost, cached_tokens)
  local weight = tonumber(read_usage(model).values['@cached_weight'] or nil) or 1
  return cost - (1 - weight) * math.min(cached_tokens, cost)
end

-- Return what a running job was charged (`read_job`).
local function charged_for(job) return tonumber(string.match(job.reuse or '', '(%S+)$') or job.cost) end

-- Replace the estimate that was charged at the dispatch by the tokens really used: `tokens` is the
-- difference. It is added to the tenant's own account, not to the floor: what other tenants were served in
-- the meantime does not matter.
local function settle_usage(model, tenant, weight, tokens)
  if tokens == 0 then return end
  local usage = read_usage(model, tenant)
  local before = usage.values[tenant] or 0
  local after = before + tokens / weight
  set_usage(usage, tenant, after)
  for priority in pairs(waiting_priorities(model)) do
    local score = tonumber(redis.call('ZSCORE', fair_share_key(model, priority), tenant))
    -- a tenant whose score was raised to the floor when it joined keeps that score
    if score and (score == before or after > score) then
      redis.call('ZADD', fair_share_key(model, priority), after, tenant)
    end
  end
end
