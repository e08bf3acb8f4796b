#!lua flags=no-writes,allow-oom
-- Read how much of their limits some tenants use. Changes nothing.
-- KEYS[1] prefix
-- args: model_count models_and_tenants..
--   models_and_tenants: the models, then for each tenant: name, most requests (0: no limit), their window (us), most
--     tokens (0: no limit), their window (us)
-- returns for each tenant {{admitted at once when all are free, remaining, time until all are free again (us)} of
--         requests, the same of tokens, running, waiting, most that wait for one model, this model or '', bytes}
-- include: store/base
-- include: scheduler/limits
local models_end = first.models_and_tenants - 1 + tonumber(args.model_count)
local tenants, by_name, running_fields = {}, {}, {}
for at, priority in ipairs(PRIORITIES) do running_fields[at] = '@' .. priority end
running_fields[#PRIORITIES + 1] = '@delayed'
for at = models_end + 1, #ARGV, 5 do
  local tenant = { name = ARGV[at], running = 0, waiting = 0, longest = 0, model = '' }
  tenant.requests = { most = tonumber(ARGV[at + 1]), window_us = tonumber(ARGV[at + 2]) }
  tenant.tokens = { most = tonumber(ARGV[at + 3]), window_us = tonumber(ARGV[at + 4]) }
  tenants[#tenants + 1], by_name[tenant.name] = tenant, tenant
  running_fields[#running_fields + 1] = tenant.name .. ':running'
end

-- Count what waits and runs of a model.
local function count_jobs(model)
  local values = redis.call('HMGET', P .. 'served:' .. model, unpack(running_fields))
  for place, tenant in ipairs(tenants) do tenant.running = tenant.running + (tonumber(values[#PRIORITIES + 1 + place]) or 0) end
  local waiting = {}
  for place, priority in ipairs(PRIORITIES) do
    if values[place] and values[place] ~= '' then
      for _, name in ipairs(redis.call('ZRANGE', fair_share_key(model, priority), 0, -1)) do
        if by_name[name] then
          waiting[name] = (waiting[name] or 0) + redis.call('ZCARD', queue_key(model, priority, name))
        end
      end
    end
  end
  local is_delayed = (tonumber(values[#PRIORITIES + 1]) or 0) > 0
  for _, member in ipairs(is_delayed and redis.call('ZRANGE', P .. 'delayed:' .. model, 0, -1) or {}) do
    local name = string.match(member, '^%S+ %S+ %S+ (.*)$')
    if by_name[name] then waiting[name] = (waiting[name] or 0) + 1 end
  end
  for name, count in pairs(waiting) do
    local tenant = by_name[name]
    tenant.waiting = tenant.waiting + count
    if count > tenant.longest then tenant.longest, tenant.model = count, model end
  end
end

local function requests_state(tenant)
  local most, window_us = tenant.requests.most, tenant.requests.window_us
  if most == 0 then return { 0, 0, 0 } end
  if most <= MAX_LOGGED then
    local limit = logged_requests(tenant.name, most, window_us)
    return { most, limit.remaining, math.ceil(limit.reset_us) }
  end
  local limit = paced_requests(tenant.name, most, window_us)
  return { math.floor(most / 10), limit.remaining, math.ceil(limit.reset_us) }
end

local function tokens_state(tenant)
  local most = tenant.tokens.most
  if most == 0 then return { 0, 0, 0 } end
  local limit = counted_tokens(tenant.name, most, tenant.tokens.window_us, 0)
  return { most, limit.remaining, math.ceil(limit.reset_us) }
end

for at = first.models_and_tenants, models_end do count_jobs(ARGV[at]) end
local answer = {}
for place, tenant in ipairs(tenants) do
  local bytes = tonumber((redis.call('HGET', P .. 'bytes', tenant.name))) or 0
  answer[place] = { requests_state(tenant), tokens_state(tenant), tenant.running, tenant.waiting, tenant.longest,
    tenant.model, math.max(0, bytes) }
end
return answer
