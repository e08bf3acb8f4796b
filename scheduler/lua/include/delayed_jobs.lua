-- Delay scheduling (Zaharia et al., EuroSys 2010): a job whose prompt is in the cache of a replica that has no free slot waits
-- for that replica for a short time, rather than taking a slot of another one, where that is likely to save it time.
--
-- `delayed:<model>` has these jobs, scored by the time (us) until which each waits: `<replica> <priority> <id> <tenant>`. They
-- are in no queue: fair share has chosen them, and their tenants are charged. The job's field `delayed` is `<charge> <tokens
-- of its prompt that the replica has> <member>`; afterwards it has `was_delayed`, since no job is delayed twice.
-- They take slots of their replicas within the bounds of `warm_jobs`, or when no job of the queue takes them. Only a model
-- whose `locality` is fair has them.
-- include: scheduler/delay_ends
-- include: scheduler/service_rate
-- include: scheduler/warm_jobs

local function has_delayed(model) return (tonumber(read_usage(model).values['@delayed'] or nil) or 0) > 0 end

-- Return the delayed jobs of a model, those first whose wait ends first: { replica, priority, id, tenant, until_us, member }.
local function delayed_jobs(model)
  local jobs = {}
  if not has_delayed(model) then return jobs end
  local flat = redis.call('ZRANGE', P .. 'delayed:' .. model, 0, -1, 'WITHSCORES')
  for at = 1, #flat, 2 do
    local replica, priority, id, tenant = string.match(flat[at], '^(%S+) (%S+) (%S+) (.*)$')
    jobs[#jobs + 1] = { replica = replica, priority = priority, id = id, tenant = tenant, until_us = tonumber(flat[at + 1]),
      member = flat[at] }
  end
  return jobs
end

local function count_delayed(model)
  set_usage(read_usage(model), '@delayed', redis.call('ZCARD', P .. 'delayed:' .. model))
end

-- Return how a job that could take a slot of this replica is delayed: { replica, tokens, delay_us }; nil when it is not. It
-- waits at most for as long as it takes to compute what is saved, and only if its replica is likely to free a slot for it in
-- half of that time: a slot is freed in the average run divided by the slots, and other jobs may be delayed for it before. If
-- the jobs that run there take longer than the average (`run_time`), they have to end within that time.
-- latest_us: when it would be too late for the job; half of the time until then has to be left.
local function choose_delay(model, tenant, replica, prefixes, latest_us)
  local MAX_DELAY_US = 10000000
  local LIKELY_SHARE = 0.5
  local MAX_DELAYED, MAX_OF_TENANT = 32, 8 -- of a model: each dispatch looks at all of them
  local values = read_usage(model).values
  local deficit, token_us = tonumber(values['@deficit'] or nil), tonumber(values['@token_us'] or nil)
  if not deficit or deficit < 0 or not token_us or not tonumber(values['@run_ms'] or nil) then return nil end
  local wanted, tokens, _, share = prefixes.warmest_of_all()
  if not wanted or wanted == replica or share < 1 then return nil end
  local delay_us = math.min(MAX_DELAY_US, (tokens - prefixes.tokens_in(replica)) * token_us)
  if NOW + 2 * delay_us > latest_us then return nil end
  local jobs, before, own = delayed_jobs(model), 1, 1
  for _, job in ipairs(jobs) do
    if job.replica == wanted then before = before + 1 end
    if job.tenant == tenant then own = own + 1 end
  end
  if #jobs >= MAX_DELAYED or own > MAX_OF_TENANT then return nil end
  local function ends_within(run_ms, us) return 1000 * run_ms * before / read_replica(wanted).slots < us end
  if not ends_within(values['@run_ms'], LIKELY_SHARE * delay_us) then return nil end
  if not ends_within(run_time(model, wanted), delay_us) then return nil end
  return { replica = wanted, tokens = tokens, delay_us = delay_us }
end

-- Delay a job that is in no queue. score: of its tenant in the queue, or nil. Returns the job's field `delayed`.
local function delay_job(id, model, priority, tenant, weight, cost, admitted_us, score, delay)
  local charged = charged_cost(model, tonumber(cost), delay.tokens)
  local member = table.concat({ delay.replica, priority, id, tenant }, ' ')
  redis.call('ZADD', P .. 'delayed:' .. model, text(NOW + delay.delay_us), member)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted_us), id)
  dispatch_delayed_at(model, NOW + delay.delay_us)
  count_delayed(model)
  add_served(model, tenant, score, charged / tonumber(weight))
  return table.concat({ charged, text(delay.tokens), member }, ' ')
end

-- A delayed job starts, ends or joins its queue: it is charged no more. Returns its fields (`read_job`); nil when it does not
-- wait any more: a version of the platform that knows no delayed jobs has ended it.
local function end_delay(model, member, id, job)
  job = job or read_job(id)
  redis.call('ZREM', P .. 'delayed:' .. model, member)
  redis.call('ZREM', P .. 'waiting:' .. model, id)
  count_delayed(model)
  if not job.delayed then return nil end
  redis.call('HDEL', job_key(id), 'delayed')
  redis.call('HSET', job_key(id), 'was_delayed', '1')
  settle_usage(model, job.tenant, tonumber(job.weight), -tonumber(string.match(job.delayed, '^%S+')))
  return job.status == 'queued' and job or nil
end

-- Return the first delayed job of a replica that takes its slot before the chosen one; nil when none does. One of a higher
-- priority does, unless the priority of the chosen one is due; one of the same within the bounds of `may_go_before`.
-- admitted_us: of the first job of the tenant that goes next.
local function next_delayed(model, replica, choice, admitted_us)
  local skips, jobs, names, rank, tenants = waiting_priorities(model), {}, {}, {}, {}
  for at, priority in ipairs(PRIORITIES) do rank[priority] = at end
  local chosen_is_due = is_due(choice.priority, skips[choice.priority])
  for _, job in ipairs(delayed_jobs(model)) do
    local higher = rank[choice.priority] - rank[job.priority]
    if job.replica == replica and (higher == 0 or higher > 0 and not chosen_is_due) then
      jobs[#jobs + 1], names[#names + 1], job.is_higher = job, job.tenant, higher > 0
    end
  end
  if #jobs == 0 then return nil end
  local deficit, kept = deficit_before(model, admitted_us), kept_slots(read_usage(model).values)
  for at, tenant in ipairs(read_slot_limits(model, names)) do tenants[names[at]] = tenant end
  for _, job in ipairs(jobs) do
    local tenant = tenants[job.tenant]
    tenant.score, tenant.may_take = tenant.served or 0, not obstacle(tenant, job.priority, kept, skips[job.priority])
    if tenant.may_take and (job.is_higher or deficit and may_go_before(choice, tenant, deficit)) then return job end
  end
  return nil
end
