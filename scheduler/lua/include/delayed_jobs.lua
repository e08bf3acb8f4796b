-- Delay scheduling (Zaharia et al., EuroSys 2010): a job whose prompt is in the cache of a replica that has no free slot waits
-- for that replica for a short time, rather than taking a slot of another one, where that is likely to save it time.
--
-- `delayed:<model>` has these jobs, scored by the time (us) until which each waits: `<replica> <priority> <id> <tenant>`. They
-- are in no queue: fair share has chosen them, and their tenants are charged. The job's field `delayed` is `<charge> <tokens
-- of its prompt that the replica has> <member>`; afterwards it has `was_delayed`, since no job is delayed twice.
-- They take slots of their replicas within the bounds of `warm_jobs`, or when no job of the queue takes them. Only a model
-- whose `locality` is fair has them.
-- include: scheduler/unfinished_work
-- include: scheduler/warm_jobs

-- Return the delayed jobs of a model, those first whose wait ends first: { replica, priority, id, tenant, until_us, member }.
local function delayed_jobs(model)
  local jobs = {}
  if (tonumber(read_usage(model).values['@delayed'] or nil) or 0) == 0 then return jobs end
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
-- half of that time: a slot is freed in the average run divided by the slots, and other jobs may be delayed for it before.
local function choose_delay(model, replica, prefixes)
  local MAX_DELAY_US = 10000000
  local LIKELY_SHARE = 0.5
  local MAX_DELAYED = 32 -- of a model: each dispatch looks at all of them
  local values = read_usage(model).values
  local deficit, token_us = tonumber(values['@deficit'] or nil), tonumber(values['@token_us'] or nil)
  local run_ms = tonumber(values['@run_ms'] or nil)
  if not deficit or deficit < 0 or not token_us or not run_ms then return nil end
  local wanted, tokens, _, share = prefixes.warmest_of_all()
  if not wanted or wanted == replica or share < 1 then return nil end
  local delay_us = math.min(MAX_DELAY_US, (tokens - prefixes.tokens_in(replica)) * token_us)
  local freed_us = run_ms * 1000 / read_replica(wanted).slots
  if freed_us >= LIKELY_SHARE * delay_us then return nil end
  local jobs, before = delayed_jobs(model), 1
  for _, job in ipairs(jobs) do
    if job.replica == wanted then before = before + 1 end
  end
  if #jobs >= MAX_DELAYED or before * freed_us >= LIKELY_SHARE * delay_us then return nil end
  return { replica = wanted, tokens = tokens, delay_us = delay_us }
end

-- Delay a job that is in no queue. score: of its tenant in the queue, or nil. Returns the job's field `delayed`.
local function delay_job(id, model, priority, tenant, weight, cost, admitted_us, score, delay)
  local charged = charged_cost(model, tonumber(cost), delay.tokens)
  local member = table.concat({ delay.replica, priority, id, tenant }, ' ')
  redis.call('ZADD', P .. 'delayed:' .. model, text(NOW + delay.delay_us), member)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted_us), id)
  record_unfinished_at(NOW + delay.delay_us, 'dispatch', model)
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

-- Return the first delayed job of a replica that may take its slot before the chosen one (`may_go_before`); nil when
-- none may. admitted_us: of the first job of the tenant that goes next.
local function next_delayed(model, replica, choice, admitted_us)
  local jobs, compared, rank = delayed_jobs(model), {}, {}
  local deficit = #jobs > 0 and deficit_before(model, admitted_us)
  if not deficit then return nil end
  for at, priority in ipairs(PRIORITIES) do rank[priority] = at end
  for _, tenant in ipairs(choice.compared) do compared[tenant.name] = tenant end
  for _, job in ipairs(jobs) do
    if job.replica == replica and rank[job.priority] <= rank[choice.priority] then
      local tenant = job.priority == choice.priority and compared[job.tenant]
      if not tenant then
        tenant = read_slot_limits(model, { job.tenant })[1]
        tenant.score, tenant.may_take = served(model, job.tenant), not obstacle_of(model, job.tenant, job.priority)
      end
      if may_go_before(choice, tenant, deficit) then return job end
    end
  end
  return nil
end
