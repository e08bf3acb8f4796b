-- Who waits: priority picks the band, fairness picks the tenant, order picks the ticket.
--
-- `turn:<model>:<band>` holds the tenants that wait there, scored by what they were served already (tokens
-- divided by weight): the least served is next. `line:<model>:<band>:<tenant>` holds its tickets by admission.
-- A lower band that was passed over PATIENCE times while it had tickets gets the next turn: strict priority
-- would let a busy high band starve it for ever.
local PATIENCE = { high = 0, normal = 4, low = 16 }

local function served(model, tenant)
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  return math.max(tonumber(redis.call('HGET', P .. 'served:' .. model, tenant)) or 0, floor)
end

local function set_served(model, tenant, amount)
  redis.call('HSET', P .. 'served:' .. model, tenant, amount)
  for _, band in ipairs(BANDS) do
    redis.call('ZADD', turn_key(model, band), 'XX', amount, tenant)
  end
end

local function charge(model, tenant, weight, tokens)
  if tokens ~= 0 then set_served(model, tenant, served(model, tenant) + tokens / weight) end
end

-- The estimate that was charged gives way to the truth, on the tenant's own account: what others were served
-- meanwhile is neither forgiven nor held against it.
local function settle(model, tenant, weight, tokens)
  if tokens == 0 then return end
  local before = tonumber(redis.call('HGET', P .. 'served:' .. model, tenant)) or 0
  local after = before + tokens / weight
  redis.call('HSET', P .. 'served:' .. model, tenant, after)
  for _, band in ipairs(BANDS) do
    local level = tonumber(redis.call('ZSCORE', turn_key(model, band), tenant))
    -- one that was levelled up when it joined stays there
    if level and (level == before or after > level) then
      redis.call('ZADD', turn_key(model, band), after, tenant)
    end
  end
end

-- Into line, behind the tickets admitted earlier; a ticket that comes back is in front again by its age.
local function join_line(id, model, band, tenant, admitted)
  -- who was idle starts level with the others: credit is not saved up
  redis.call('ZADD', turn_key(model, band), 'NX', served(model, tenant), tenant)
  redis.call('ZADD', line_key(model, band, tenant), text(admitted), id)
  redis.call('ZADD', P .. 'waiting:' .. model, text(admitted), id)
end

local function leave_line(id, model, band, tenant)
  redis.call('ZREM', line_key(model, band, tenant), id)
  redis.call('ZREM', P .. 'waiting:' .. model, id)
  if redis.call('EXISTS', line_key(model, band, tenant)) == 0 then
    redis.call('ZREM', turn_key(model, band), tenant)
    -- a band's impatience is that of its tickets, and goes with them
    if redis.call('EXISTS', turn_key(model, band)) == 0 then redis.call('HDEL', P .. 'passed:' .. model, band) end
  end
end

local function next_band(model)
  local passed, chosen = P .. 'passed:' .. model, nil
  local waiting = {}
  for _, band in ipairs(BANDS) do
    if redis.call('EXISTS', turn_key(model, band)) == 1 then waiting[#waiting + 1] = band end
  end
  if #waiting < 2 then
    if #waiting == 1 then redis.call('HDEL', passed, waiting[1]) end
    return waiting[1]
  end
  chosen = waiting[1]
  for position = 2, #waiting do
    local band = waiting[position]
    if (tonumber(redis.call('HGET', passed, band)) or 0) >= PATIENCE[band] then chosen = band end
  end
  for _, band in ipairs(waiting) do
    if band == chosen then redis.call('HDEL', passed, band) else redis.call('HINCRBY', passed, band, 1) end
  end
  return chosen
end

-- Take the ticket whose turn it is out of line, or nil.
local function next_ticket(model)
  local band = next_band(model)
  if not band then return nil end
  local first = redis.call('ZRANGE', turn_key(model, band), 0, 0, 'WITHSCORES')
  local tenant, level = first[1], tonumber(first[2])
  local id = redis.call('ZRANGE', line_key(model, band, tenant), 0, 0)[1]
  leave_line(id, model, band, tenant)
  local floor = tonumber(redis.call('HGET', P .. 'served:' .. model, '@floor')) or 0
  if level > floor then redis.call('HSET', P .. 'served:' .. model, '@floor', level) end
  local row = redis.call('HMGET', ticket_key(id), 'weight', 'cost')
  charge(model, tenant, tonumber(row[1]), tonumber(row[2]))
  return id
end
