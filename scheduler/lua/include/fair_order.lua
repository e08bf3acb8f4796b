-- The order in which the jobs of a queue go next, without changing anything: what a dispatch or an end changes is kept in
-- tables, and each choice is that of `fair_choice`. It assumes that each job uses its estimated tokens, that jobs end in
-- the order of their dispatches, and that no other job arrives. Tests compare it with what is dispatched.
-- include: scheduler/queue
-- include: scheduler/open_slots

local CHUNK = 16 -- jobs of a tenant that are read at a time

-- Whether a stands before b in a sorted set. Lua's own comparison of texts depends on the locale.
local function stands_before(a, b)
  if a.score ~= b.score then return a.score < b.score end
  local one, other = a.tenant.name, b.tenant.name
  for at = 1, math.min(#one, #other) do
    local x, y = string.byte(one, at), string.byte(other, at)
    if x ~= y then return x < y end
  end
  return #one < #other
end

-- Put an entry into a sorted list.
local function insert_sorted(list, entry)
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if stands_before(entry, list[middle]) then high = middle else low = middle + 1 end
  end
  table.insert(list, low, entry)
end

-- Set the numbers of a tenant that `read_bounded_runs` has read.
local function set_numbers(model, tenant)
  tenant.weight, tenant.bound = weight_and_bound(model, tenant.name)
  tenant.running, tenant.served = runs_of(model, tenant.name), read_usage(model).values[tenant.name] or 0
  tenant.bounded = math.max(bounded_runs[tenant.name] or 0, tenant.running)
  return tenant
end

-- Return the tenants that wait, by priority in their order, the first so many of each, and the tenants by name.
local function read_tenants(model, most)
  local lists, tenants, names = {}, {}, {}
  for priority in pairs(waiting_priorities(model)) do
    local flat, list = redis.call('ZRANGE', fair_share_key(model, priority), 0, most - 1, 'WITHSCORES'), {}
    for at = 1, #flat, 2 do
      local name = flat[at]
      if not tenants[name] then
        tenants[name] = { name = name, entries = 0 }
        names[#names + 1] = name
      end
      tenants[name].entries = tenants[name].entries + 1
      list[#list + 1] = { tenant = tenants[name], score = tonumber(flat[at + 1]), taken = 0, jobs = {} }
    end
    lists[priority] = list
  end
  read_bounded_runs(model, names)
  for _, tenant in pairs(tenants) do set_numbers(model, tenant) end
  return lists, tenants
end

-- Return the tenants and priorities of the running jobs, those of the earliest dispatches first, at most so many.
local function running_jobs(model, most)
  local runs, jobs = {}, {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local flat = redis.call('HGETALL', slots_key(replica))
    for at = 1, #flat, 2 do runs[#runs + 1] = { flat[at], tonumber(string.match(flat[at + 1], '%d+')) } end
  end
  table.sort(runs, function(a, b) return a[2] < b[2] end)
  for at = 1, math.min(#runs, most) do
    local tenant, priority = read_fields(job_key(runs[at][1]), 'tenant', 'priority')
    jobs[at] = { tenant = tenant or '', priority = priority or '' }
  end
  return jobs
end

-- Take the next job of a tenant. Returns its id, and whether it was the last one.
local function take_job(model, priority, entry)
  if #entry.jobs < entry.taken + 2 then
    local first = #entry.jobs
    local more = redis.call('ZRANGE', queue_key(model, priority, entry.tenant.name), first, first + CHUNK - 1)
    for _, id in ipairs(more) do entry.jobs[#entry.jobs + 1] = id end
  end
  entry.taken = entry.taken + 1
  return entry.jobs[entry.taken], #entry.jobs == entry.taken
end

-- Count the begin (1) or end (-1) of a job. totals: the fields of the model that `kept_slots` reads; tenant: nil when none
-- of its jobs waits.
local function count_change(totals, tenant, priority, change)
  totals['@running'] = totals['@running'] + change
  if IS_BACKGROUND[priority] then totals['@background'] = totals['@background'] + change end
  if tenant then tenant.running, tenant.bounded = tenant.running + change, tenant.bounded + change end
end

-- Set the score of a tenant in all lists but one.
local function move(lists, tenant, score, but)
  for priority, list in pairs(lists) do
    for at, entry in ipairs(priority == but and {} or list) do
      if entry.tenant == tenant then
        table.remove(list, at)
        entry.score = score
        insert_sorted(list, entry)
        break
      end
    end
  end
end

-- Return the ids of the next jobs of a model in their order, at most so many. The commands grow with that number and
-- with the replicas, not with the queue.
-- on_first: called with the numbers of the first choice, before anything is changed; its job is the only one then.
local function fair_order(model, most, on_first)
  local totals, order = { ['@running'] = 0, ['@background'] = 0 }, {}
  for field, value in pairs(read_usage(model).values) do totals[field] = value or totals[field] end
  local skips, lists, tenants = waiting_priorities(model), read_tenants(model, most + TENANTS_COMPARED)
  local running, ended, open = running_jobs(model, most), 0, open_slots(model)
  local function compared_tenants(priority, first, last)
    local compared = {}
    for at = first, math.min(last, #lists[priority]) do compared[#compared + 1] = lists[priority][at].tenant end
    return compared
  end
  while #order < most and next(skips) do
    local choice, kept = nil, nil
    if totals['@running'] < open or #running == ended then
      kept = kept_slots(totals)
      choice = choose_tenant(skips, kept, compared_tenants)
    end
    if choice then
      local priority, tenant = choice.priority, choice.tenant
      local list = lists[priority]
      local entry = table.remove(list, choice.place)
      local id, is_last = take_job(model, priority, entry)
      if not id then return order end
      order[#order + 1] = id
      if on_first then
        on_first({ priority = priority, entry = entry, share = choice.share, kept = kept, ended = ended,
          tenants = tenants })
        return order
      end
      for name, count in pairs(skips) do skips[name] = skips_after(name, priority, count) end
      local cost, weight = read_fields(job_key(id), 'cost', 'weight')
      tenant.served = math.max(tenant.served, entry.score) + (tonumber(cost) or 0) / (tonumber(weight) or 1)
      entry.score = tenant.served
      if tenant.entries > 1 then move(lists, tenant, tenant.served, priority) end
      if not is_last then
        insert_sorted(list, entry)
      else
        tenant.entries = tenant.entries - 1
        if #list == 0 then skips[priority] = nil end
      end
      count_change(totals, tenant, priority, 1)
      running[#running + 1] = { tenant = tenant.name, priority = priority }
    elseif ended < #running then
      ended = ended + 1
      count_change(totals, tenants[running[ended].tenant], running[ended].priority, -1)
    else
      return order
    end
  end
  return order
end
