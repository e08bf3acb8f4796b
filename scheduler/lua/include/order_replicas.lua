-- The replicas of a model whose slots the next jobs take, for the prediction of the order (`fair_order`). They matter only
-- where a model chooses jobs by what its replicas have computed (`warm_jobs`).

-- Whether a text stands before another one among equals of a sorted set. Lua's own comparison depends on the locale.
local function precedes(one, other)
  for at = 1, math.min(#one, #other) do
    local x, y = string.byte(one, at), string.byte(other, at)
    if x ~= y then return x < y end
  end
  return #one < #other
end

-- Return the replicas that accept jobs: by name, each with its `slots` and how many are `taken`; names, in their order; and
-- the count by which dispatch goes round among equals. The commands grow with the replicas.
local function read_places(model)
  local places = { names = redis.call('ZRANGE', P .. 'ready:' .. model, 0, -1), by_name = {},
    rotation = tonumber(redis.call('HGET', model_key(model), 'rotation') or 0) }
  table.sort(places.names, precedes)
  for _, name in ipairs(places.names) do
    places.by_name[name] = { slots = tonumber(read_replica(name).slots), taken = redis.call('HLEN', slots_key(name)) }
  end
  return places
end

-- Return the replica whose slot the next job takes, as `least_loaded_replica`; nil when all slots are taken.
local function next_place(places)
  local least, equals = 1, {}
  for _, name in ipairs(places.names) do
    local place = places.by_name[name]
    local share = place.taken / place.slots
    if share < least then least, equals = share, { name }
    elseif share == least and share < 1 then equals[#equals + 1] = name end
  end
  if #equals < 2 then return equals[1] end
  places.rotation = places.rotation + 1
  return equals[places.rotation % #equals + 1]
end

-- Count a slot of a replica that is taken (1) or freed (-1).
local function count_place(places, replica, change)
  local place = places and places.by_name[replica]
  if place then place.taken = place.taken + change end
end
