-- The order in which the jobs of a queue go next, as `queue.lua` chooses them, without changing anything. It assumes
-- that each job uses its estimated tokens and that no other job arrives.

local CHUNK = 16 -- jobs of a tenant that are read at a time

-- Whether a stands before b in a sorted set. Lua's own comparison of texts depends on the locale.
local function stands_before(a, b)
  if a.score ~= b.score then return a.score < b.score end
  for at = 1, math.min(#a.tenant, #b.tenant) do
    local x, y = string.byte(a.tenant, at), string.byte(b.tenant, at)
    if x ~= y then return x < y end
  end
  return #a.tenant < #b.tenant
end

-- Insert an entry into a sorted list.
local function insert_sorted(list, entry)
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if stands_before(entry, list[middle]) then high = middle else low = middle + 1 end
  end
  table.insert(list, low, entry)
end

-- Return the tenants with jobs of a priority in their order, those of the first `most` jobs at least: in that many
-- steps no tenant behind them is reached, since scores only rise.
local function tenants_in_order(model, priority, most)
  local flat, list = redis.call('ZRANGE', fair_share_key(model, priority), 0, most - 1, 'WITHSCORES'), {}
  for at = 1, #flat, 2 do
    list[#list + 1] = { tenant = flat[at], score = tonumber(flat[at + 1]), taken = 0, jobs = {} }
  end
  return list
end

-- Take the next job of a tenant. Returns its id, and whether it was the last one.
local function take_job(model, priority, entry)
  if #entry.jobs < entry.taken + 2 then
    local first = #entry.jobs
    local more = redis.call('ZRANGE', queue_key(model, priority, entry.tenant), first, first + CHUNK - 1)
    for _, id in ipairs(more) do entry.jobs[#entry.jobs + 1] = id end
  end
  entry.taken = entry.taken + 1
  return entry.jobs[entry.taken], #entry.jobs == entry.taken
end

-- Return the ids of the next jobs of a model in their order, at most so many. The commands grow with that number,
-- not with the queue.
local function fair_order(model, most)
  local skips, lists, order = {}, {}, {}
  for priority, count in pairs(waiting_priorities(model)) do
    skips[priority], lists[priority] = count, tenants_in_order(model, priority, most)
  end
  -- the scores of the tenants whose jobs were taken; an entry gets its new score when it comes to the front of its
  -- list, since scores only rise
  local scores = {}
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  while #order < most and next(skips) do
    local priority = nil
    for _, name in ipairs(PRIORITIES) do
      if skips[name] and (not priority or skips[name] >= MAX_SKIPS[name]) then priority = name end
    end
    for name, count in pairs(skips) do skips[name] = name == priority and 0 or count + 1 end

    local list = lists[priority]
    local entry = table.remove(list, 1)
    while scores[entry.tenant] and entry.score ~= scores[entry.tenant] do
      entry.score = scores[entry.tenant]
      insert_sorted(list, entry)
      entry = table.remove(list, 1)
    end
    local id, is_last = take_job(model, priority, entry)
    if not id then return order end
    order[#order + 1] = id
    local served_to = scores[entry.tenant] or tonumber(redis.call('HGET', P .. 'served:' .. model, entry.tenant)) or 0
    local cost, weight = read_fields(job_key(id), 'cost', 'weight')
    scores[entry.tenant] = math.max(served_to, floor, entry.score) + (tonumber(cost) or 0) / (tonumber(weight) or 1)
    floor = math.max(floor, entry.score)
    if not is_last then table.insert(list, 1, entry) end
    if #list == 0 then skips[priority] = nil end
  end
  return order
end
