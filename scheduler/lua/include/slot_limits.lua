-- Which tenants may take a slot of a model: the bound on a tenant's running jobs, and the reserve.
--
-- `running` counts the running jobs, of all models, of tenants that have a bound; a job with the field `counted` is one
-- of them. A tenant at its bound stays in its queues, and is passed over. `held:<tenant>` has the models at which that
-- happened: the end of one of its jobs dispatches for them.

-- What this script has read and changed of `running`.
local bounded_runs = {}

-- Return a tenant's weight, and the most jobs that it may run at once; 0: no bound.
local function weight_and_bound(model, tenant)
  local weight, bound = string.match(read_usage(model, tenant).values[tenant .. ':limits'] or '', '^(%S+) (%S+)$')
  return tonumber(weight) or 1, tonumber(bound) or 0
end

-- Return how many jobs of a tenant run on a model.
local function runs_of(model, tenant) return read_usage(model, tenant).values[tenant .. ':running'] or 0 end

-- Read the counts of those of these tenants that have a bound, with one command, and the usage of all of them.
local function read_bounded_runs(model, tenants)
  local missing = {}
  read_usage_of(model, tenants)
  for _, tenant in ipairs(tenants) do
    local _, bound = weight_and_bound(model, tenant)
    if bound > 0 and not bounded_runs[tenant] then missing[#missing + 1] = tenant end
  end
  if #missing == 0 then return end
  for at, count in ipairs({ read_fields(P .. 'running', unpack(missing)) }) do
    bounded_runs[missing[at]] = tonumber(count) or 0
  end
end

-- Whether a tenant runs as many jobs as it may. Jobs from before it had a bound are not counted in `running`.
local function is_at_bound(model, tenant)
  local _, bound = weight_and_bound(model, tenant)
  if bound == 0 then return false end
  read_bounded_runs(model, { tenant })
  return math.max(bounded_runs[tenant], runs_of(model, tenant)) >= bound
end

-- Whether only the slots are free that are reserved for tenants that run nothing on the model.
local function only_reserve_is_free(model)
  local values = read_usage(model).values
  local reserve, slots = values['@reserve'] or 0, values['@slots'] or 0
  return reserve > 0 and slots - (values['@running'] or 0) <= math.floor(slots / reserve)
end

-- Let the end of one of the tenant's jobs dispatch for this model.
local function hold(model, tenant) redis.call('SADD', P .. 'held:' .. tenant, model) end

-- Whether a tenant with a waiting job may take a free slot of the model now.
local function may_take_slot(model, tenant)
  if is_at_bound(model, tenant) then
    hold(model, tenant)
    return false
  end
  return runs_of(model, tenant) == 0 or not only_reserve_is_free(model)
end

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
