-- The order in which the jobs of a queue go next, without changing anything: what a dispatch or an end changes is kept in
-- tables, and each choice is that of `fair_choice`. It assumes that each job uses its estimated tokens, that jobs end in
-- the order of their dispatches, and that no other job arrives. Of the prompts that replicas have in their caches it knows
-- what was known when the jobs were queued; a job that is delayed takes the next slot of its replica, and no other one will be
-- delayed. Tests compare it with what is dispatched.
-- include: scheduler/queue
-- include: scheduler/open_slots
-- include: scheduler/order_replicas

local CHUNK = 16 -- jobs of a tenant that are read at a time

-- Whether a stands before b in a sorted set.
local function stands_before(a, b)
  if a.score ~= b.score then return a.score < b.score end
  return precedes(a.tenant.name, b.tenant.name)
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
      list[#list + 1] = { tenant = tenants[name], score = tonumber(flat[at + 1]), first = 1, jobs = {}, admitted = {} }
    end
    lists[priority] = list
  end
  read_bounded_runs(model, names)
  for _, tenant in pairs(tenants) do set_numbers(model, tenant) end
  return lists, tenants
end

-- Return the tenants, priorities and replicas of the running jobs, those of the earliest dispatches first, at most so many.
local function running_jobs(model, most)
  local runs, jobs = {}, {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local flat = redis.call('HGETALL', slots_key(replica))
    for at = 1, #flat, 2 do runs[#runs + 1] = { flat[at], tonumber(string.match(flat[at + 1], '%d+')), replica } end
  end
  table.sort(runs, function(a, b) return a[2] < b[2] end)
  for at = 1, math.min(#runs, most) do
    local tenant, priority = read_fields(job_key(runs[at][1]), 'tenant', 'priority')
    jobs[at] = { tenant = tenant or '', priority = priority or '', replica = runs[at][3] }
  end
  return jobs
end

-- Return the first job of a tenant that is not gone, and its admission time (us); nil without one.
local function first_job(model, priority, entry, gone)
  while true do
    local id = entry.jobs[entry.first]
    if id and not gone[id] then return id, entry.admitted[entry.first] end
    if id then
      entry.first = entry.first + 1
    else
      local count = #entry.jobs
      local more = redis.call('ZRANGE', queue_key(model, priority, entry.tenant.name), count, count + CHUNK - 1, 'WITHSCORES')
      if #more == 0 then return nil end
      for at = 1, #more, 2 do
        entry.jobs[#entry.jobs + 1], entry.admitted[#entry.admitted + 1] = more[at], tonumber(more[at + 1])
      end
    end
  end
end

-- Return the place of a tenant in a list.
local function place_of(list, tenant)
  for at, entry in ipairs(list) do
    if entry.tenant == tenant then return at end
  end
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

-- Return a function(choice, admitted_us, replica, wait_ms) that returns what `next_warm` would, with the jobs of `passed`
-- left out; nil for a model that does not choose so.
local function warm_choices(model, most, passed)
  local deficit, members = tonumber(read_usage(model).values['@deficit'] or nil), {}
  return deficit and function(choice, admitted_us, replica, wait_ms)
    if not replica or has_waited_long(admitted_us, wait_ms) then return nil end
    local key = warm_key(replica, choice.priority)
    members[key] = members[key] or redis.call('ZRANGE', key, 0, WARM_COMPARED + most - 1)
    return first_warm(members[key], replica, choice, deficit, passed, function(member)
      passed[string.match(member, '^%S+')] = true
    end)
  end
end

-- Return the first of these delayed jobs whose replica has a free slot, and remove it from the list; nil without one.
local function take_delayed(delayed, places)
  for at, job in ipairs(delayed) do
    local place = places and places.by_name[job.replica]
    if place and place.taken < place.slots then return table.remove(delayed, at) end
  end
  return nil
end

-- Return the tokens of a job's prompt that a replica has, as far as it was known when the job was queued.
local function known_reuse(warm, replica)
  local name, mark, tokens = string.match(warm or '', '^(%S+) (%S+) (%S+)$')
  return name and name == replica and is_cached(replica, tonumber(mark)) and tonumber(tokens) or 0
end

-- Return the ids of the next jobs of a model in their order, at most so many. The commands grow with that number and
-- with the replicas, not with the queue.
-- on_first: called with the numbers of the first choice from the queue, before anything is changed; its job is the only one
-- then.
local function fair_order(model, most, on_first)
  local totals, order = { ['@running'] = 0, ['@background'] = 0 }, {}
  for field, value in pairs(read_usage(model).values) do totals[field] = value or totals[field] end
  local skips, lists, tenants = waiting_priorities(model), read_tenants(model, most + TENANTS_COMPARED)
  local running, ended, open, wait_ms = running_jobs(model, most), 0, open_slots(model), totals['@wait_ms'] or nil
  local gone, passed = {}, {}
  local warm_choice = warm_choices(model, most, passed)
  local places = warm_choice and read_places(model)
  local function compared_tenants(priority, first, last)
    local compared = {}
    for at = first, math.min(last, #lists[priority]) do
      local entry = lists[priority][at]
      entry.tenant.score = entry.score
      compared[#compared + 1] = entry.tenant
    end
    return compared
  end
  local delayed = on_first and {} or delayed_jobs(model)
  while #order < most and (next(skips) or #delayed > 0) do
    local choice, kept, starts = nil, nil, take_delayed(delayed, places)
    if starts then
      order[#order + 1], running[#running + 1] = starts.id, starts
      count_change(totals, tenants[starts.tenant], starts.priority, 1)
      count_place(places, starts.replica, 1)
    elseif totals['@running'] < open or #running == ended then
      kept = kept_slots(totals)
      choice = choose_tenant(skips, kept, compared_tenants)
    end
    if choice then
      local priority, list = choice.priority, lists[choice.priority]
      local fair, replica = list[choice.place], places and next_place(places)
      local id, admitted_us = first_job(model, priority, fair, gone)
      if not id then break end
      local warm = warm_choice and warm_choice(choice, admitted_us, replica, wait_ms)
      if warm and warm.id == id then warm = nil end -- it goes next in any case
      local place = warm and place_of(list, warm.tenant) or choice.place
      local entry = list[place]
      if on_first then
        on_first({ priority = priority, entry = entry, share = choice.share, kept = kept, ended = ended,
          tenants = tenants, fair = fair, fair_id = id, replica = replica, warm = warm })
        return { warm and warm.id or id }
      end
      if warm then id = warm.id end
      table.remove(list, place)
      order[#order + 1] = id
      gone[id], passed[id] = true, true
      for name, count in pairs(skips) do skips[name] = skips_after(name, priority, count) end
      local cost, weight, admitted, known = read_fields(job_key(id), 'cost', 'weight', 'admitted_us', 'warm')
      local tenant, waited_ms = entry.tenant, (NOW - (tonumber(admitted) or NOW)) / 1000
      local charged = charged_cost(model, tonumber(cost) or 0, known_reuse(known, replica))
      wait_ms = moving_average(wait_ms, waited_ms)
      tenant.served = math.max(tenant.served, entry.score) + charged / (tonumber(weight) or 1)
      entry.score = tenant.served
      if tenant.entries > 1 then move(lists, tenant, tenant.served, priority) end
      if first_job(model, priority, entry, gone) then
        insert_sorted(list, entry)
      else
        tenant.entries = tenant.entries - 1
        if #list == 0 then skips[priority] = nil end
      end
      count_change(totals, tenant, priority, 1)
      count_place(places, replica, 1)
      running[#running + 1] = { tenant = tenant.name, priority = priority, replica = replica }
    elseif not starts and ended < #running then
      ended = ended + 1
      count_change(totals, tenants[running[ended].tenant], running[ended].priority, -1)
      count_place(places, running[ended].replica, -1)
    elseif not starts then
      break
    end
  end
  for at = 1, math.min(#delayed, most - #order) do order[#order + 1] = delayed[at].id end
  return order
end
