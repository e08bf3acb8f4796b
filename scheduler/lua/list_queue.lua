#!lua flags=no-writes,allow-oom
-- Return what waits and runs of a model, by tenant. Changes nothing.
-- KEYS[1] prefix
-- args: model max_tenants max_running
--   max_tenants: of each priority; max_running: most running jobs to look at
-- returns {depth, admission of the oldest (us) or '', slots, running,
--         {tenant, priority, depth, id and admission (us) of its oldest job, ...}, {tenant of a running job, ...}}
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/open_slots
local model = args.model
local waiting, tenants, delayed = {}, {}, {}
for _, job in ipairs(delayed_jobs(model)) do -- they are in no queue
  local key, admitted_us = job.tenant .. ' ' .. job.priority, redis.call('ZSCORE', P .. 'waiting:' .. model, job.id)
  if admitted_us then -- an earlier version has ended it otherwise
    local row = delayed[key] or { job.tenant, job.priority, 0, job.id, admitted_us }
    if tonumber(admitted_us) < tonumber(row[5]) then row[4], row[5] = job.id, admitted_us end
    row[3], delayed[key] = row[3] + 1, row
  end
end
local function add_row(row)
  for _, item in ipairs(row) do waiting[#waiting + 1] = item end
end
for _, priority in ipairs(PRIORITIES) do
  for _, tenant in ipairs(redis.call('ZRANGE', fair_share_key(model, priority), 0, tonumber(args.max_tenants) - 1)) do
    local queue = queue_key(model, priority, tenant)
    local oldest = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    local key, row = tenant .. ' ' .. priority, { tenant, priority, redis.call('ZCARD', queue), oldest[1], oldest[2] }
    local own = delayed[key]
    if own then
      row[3], delayed[key] = row[3] + own[3], nil
      if tonumber(own[5]) < tonumber(row[5]) then row[4], row[5] = own[4], own[5] end
    end
    add_row(row)
  end
end
for _, row in pairs(delayed) do add_row(row) end
local running, most = 0, tonumber(args.max_running)
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
  for _, id in ipairs(redis.call('HKEYS', slots_key(replica))) do
    running = running + 1
    if #tenants < most then tenants[#tenants + 1] = redis.call('HGET', job_key(id), 'tenant') or '' end
  end
end
return { redis.call('ZCARD', P .. 'waiting:' .. model),
  redis.call('ZRANGE', P .. 'waiting:' .. model, 0, 0, 'WITHSCORES')[2] or '', open_slots(model), running,
  waiting, tenants }
