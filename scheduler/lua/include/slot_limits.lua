-- Which tenants may take a slot of a model: the bound on a tenant's running jobs, and the reserves.
--
-- `running` counts the running jobs, of all models, of tenants that have a bound; a job with the field `counted` is one
-- of them. A tenant at its bound stays in its queues, and is passed over. `held:<tenant>` has the models at which that
-- happened: the end of one of its jobs dispatches for them.

-- What this script has read and changed of `running`.
local bounded_runs = {}

-- The weight and the bound of each text `<weight> <bound>` that was read: most tenants have the same.
local limits_by_text = {}

local function parse_limits(limits)
  local known = limits_by_text[limits or '']
  if not known then
    local weight, bound = string.match(limits or '', '^(%S+) (%S+)$')
    known = { tonumber(weight) or 1, tonumber(bound) or 0 }
    limits_by_text[limits or ''] = known
  end
  return known[1], known[2]
end

-- Return a tenant's weight, and the most jobs that it may run at once; 0: no bound.
local function weight_and_bound(model, tenant)
  return parse_limits(read_usage(model, tenant).values[tenant .. ':limits'])
end

-- Return how many jobs of a tenant run on a model.
local function runs_of(model, tenant) return read_usage(model, tenant).values[tenant .. ':running'] or 0 end

-- Read the counts of those of these tenants, which have a bound, that were not read, with one command.
local function read_counts_of_bounded(tenants)
  local missing = {}
  for _, tenant in ipairs(tenants) do
    if not bounded_runs[tenant] then missing[#missing + 1] = tenant end
  end
  if #missing == 0 then return end
  for at, count in ipairs({ read_fields(P .. 'running', unpack(missing)) }) do
    bounded_runs[missing[at]] = tonumber(count) or 0
  end
end

-- Read the counts of those of these tenants that have a bound, and the usage of all of them.
local function read_bounded_runs(model, tenants)
  local bounded = {}
  read_usage_of(model, tenants)
  for _, tenant in ipairs(tenants) do
    local _, bound = weight_and_bound(model, tenant)
    if bound > 0 then bounded[#bounded + 1] = tenant end
  end
  read_counts_of_bounded(bounded)
end

-- Return what these tenants are chosen by (`fair_choice`), and what is read anyway: their `limits` and `served`. It is not
-- kept for the call: `keep_usage` does that for one.
local function read_slot_limits(model, tenants)
  local values, fields, known, bounded = read_usage(model).values, {}, {}, {}
  for _, tenant in ipairs(tenants) do
    if values[tenant] == nil then
      local count = #fields
      fields[count + 1], fields[count + 2], fields[count + 3] = tenant, tenant .. ':running', tenant .. ':limits'
    end
  end
  local read, first = #fields > 0 and redis.call('HMGET', P .. 'served:' .. model, unpack(fields)), 1
  for at, tenant in ipairs(tenants) do
    local served, running, limits = values[tenant], nil, nil
    if served == nil then
      served, running, limits = read[first], read[first + 1], read[first + 2]
      first = first + 3
    else -- this call may have changed it
      running, limits = values[tenant .. ':running'], values[tenant .. ':limits']
    end
    local weight, bound = parse_limits(limits)
    if bound > 0 then bounded[#bounded + 1] = tenant end
    known[at] = { name = tenant, weight = weight, bound = bound, running = tonumber(running) or 0, limits = limits,
      served = tonumber(served) or false }
  end
  read_counts_of_bounded(bounded)
  for _, tenant in ipairs(known) do tenant.bounded = bounded_runs[tenant.name] or 0 end
  return known
end

-- Keep what `read_slot_limits` has read of a tenant, so that it is not read again.
local function keep_usage(model, tenant)
  local values = read_usage(model).values
  if values[tenant.name] ~= nil then return end
  values[tenant.name], values[tenant.name .. ':running'] = tenant.served, tenant.running
  values[tenant.name .. ':limits'] = tenant.limits
end

-- Return why a tenant may take no slot of a model for a job of this priority (`obstacle`); nil when it may.
local function obstacle_of(model, tenant, priority)
  local _, bound = weight_and_bound(model, tenant)
  if bound > 0 then read_bounded_runs(model, { tenant }) end
  local numbers = { bound = bound, bounded = bounded_runs[tenant] or 0, running = runs_of(model, tenant) }
  return obstacle(numbers, priority, kept_slots(read_usage(model).values), waiting_priorities(model)[priority])
end

-- Let the end of one of the tenant's jobs dispatch for this model.
local function hold(model, tenant) redis.call('SADD', P .. 'held:' .. tenant, model) end

-- Count a run of a tenant that begins (1) or ends (-1), if it has a bound. Returns whether it was counted.
local function count_bounded_run(tenant, change)
  bounded_runs[tenant] = redis.call('HINCRBY', P .. 'running', tenant, change)
  if bounded_runs[tenant] <= 0 then redis.call('HDEL', P .. 'running', tenant) end
end

-- Return the models at which jobs of the tenant were held.
local function release_held(tenant)
  local models = redis.call('SMEMBERS', P .. 'held:' .. tenant)
  if #models > 0 then redis.call('DEL', P .. 'held:' .. tenant) end
  return models
end
