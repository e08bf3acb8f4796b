#!lua flags=no-writes,allow-oom
-- Return one job, the last event of its log if it has ended, and of a waiting one the numbers by which the next job of its
-- model is chosen. Changes nothing. The commands do not grow with the queue.
-- KEYS[1] prefix
-- args: id limit
--   limit: so many tenants of each priority, and running jobs, are read
-- returns {} for an unknown job, else {the time (us), its row (`job_row`), the terminal event or '', {} or the choice, {} or,
--   for a job that waits for the replica that has its prompt, {replica, tokens, until (us)}}
--   the choice: {{priority, its skips or '' where no job waits, skips after which it goes next, ...}, slots, running, one slot in so many is reserved or
--     0, so many are kept from background jobs, level of idle tenants, jobs of the tenant that stand before it, its tenant (below), {} or the next one}
--   the next one: {id, priority, running jobs for its weight from which on a tenant is passed over, 1 when only the
--     reserve is free, number of running jobs that are assumed to end before, its tenant} and, for one that goes next for
--     what a replica has computed, {replica, tokens, id of the job that would go next, the tenant of that}, else {}
--   a tenant: {name, weight, most running jobs or 0, running ones of the model, of all models, score (tokens served for
--     its weight), why it may take no slot for a job of this priority: max_running, reserve, background_reserve or ''}
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/fair_order
-- include: scheduler/job_row
local id, limit = args.id, tonumber(args.limit)
local row = job_row(id)
local tenant_name, model, priority, status = row[2], row[3], row[4], row[5]
if not status then return {} end
if TERMINAL[status] then
  local last = redis.call('XREVRANGE', log_key(id), '+', '-', 'COUNT', 1)[1]
  return { text(NOW), row, last and last[2][2] or '', {}, {} }
end
if status ~= 'queued' then return { text(NOW), row, '', {}, {} } end

local function decimal(number) return string.format('%.6f', number) end

local function numbers_of(tenant, score, of_priority, kept)
  return { tenant.name, decimal(tenant.weight), tenant.bound, tenant.running, tenant.bounded, decimal(score),
    obstacle(tenant, of_priority, kept, waiting_priorities(model)[of_priority]) or '' }
end

local skips = {}
for _, name in ipairs(PRIORITIES) do
  skips[#skips + 1] = name
  skips[#skips + 1] = waiting_priorities(model)[name] or ''
  skips[#skips + 1] = MAX_SKIPS[name]
end
local values, delay = read_usage(model).values, {}
for _, job in ipairs(delayed_jobs(model)) do
  if job.id == id then
    local tokens = string.match(redis.call('HGET', job_key(id), 'delayed'), '^%S+ (%S+)')
    delay = { job.replica, tokens, text(job.until_us) }
  end
end
local choice = nil
local order = fair_order(model, limit, function(numbers) choice = numbers end)
local own = choice and choice.tenants[tenant_name]
if not own then -- it is not among the first tenants
  read_bounded_runs(model, { tenant_name })
  own = set_numbers(model, { name = tenant_name })
end
local score = tonumber(redis.call('ZSCORE', fair_share_key(model, priority), tenant_name)) or own.served
local next_one, kept = {}, choice and choice.kept or {}
if choice then
  next_one = { order[1], choice.priority, decimal(choice.share), kept.all and 1 or 0, choice.ended,
    numbers_of(choice.entry.tenant, choice.entry.score, choice.priority, kept), {} }
  if choice.warm then
    next_one[7] = { choice.replica, choice.warm.tokens, choice.fair_id,
      numbers_of(choice.fair.tenant, choice.fair.score, choice.priority, kept) }
  end
end
return { text(NOW), row, '', { skips, open_slots(model), values['@running'] or 0, values['@reserve'] or 0,
  values['@background_reserve'] or 0, decimal(values['@floor'] or 0), redis.call('ZRANK', queue_key(model, priority, tenant_name), id) or 0,
  numbers_of(own, score, priority, kept), next_one }, delay }
