-- Included by the scripts of conversations: their bytes, their time, and their end.
local CONVERSATION_BYTES, ITEM_BYTES = 512, 128 -- beside the texts

-- Return whether a tenant has a conversation, which has not expired, and the id of the person who made it, false for a key.
-- person: who asks, and has those that the same person made; '' for a key, which has all of its tenant.
local function has_conversation(id, tenant, person)
  local owner, expires_us, maker = read_fields(conversation_key(id), 'tenant', 'expires_us', 'person')
  if person ~= '' and maker ~= person then return false end
  return owner == tenant and tonumber(expires_us) > NOW, maker
end

-- Return the fields of a conversation that do not grow with it, and their values, and one further field, if it is there.
local function main_fields(id, further)
  local reply, names = {}, { 'created_us', 'changed_us', 'expires_us', 'metadata', 'items', 'bytes', 'next', 'turn', 'turn_us',
    'turn_parent', 'turns', further or 'tenant' }
  for at, value in ipairs(redis.call('HMGET', conversation_key(id), unpack(names))) do
    if value then
      reply[#reply + 1] = names[at]
      reply[#reply + 1] = value
    end
  end
  return reply
end

-- Return the ids of a tenant's conversations in the set of an older platform, the latest one first.
local function conversations_of_set(key)
  local ids, created_us = {}, {}
  for _, id in ipairs(redis.call('SMEMBERS', key)) do
    created_us[id] = tonumber(redis.call('HGET', conversation_key(id), 'created_us'))
    if created_us[id] then ids[#ids + 1] = id end
  end
  table.sort(ids, function(one, other) return created_us[one] > created_us[other] end)
  return ids
end

-- Return how many ids are before this one in a list; nil if it is not there.
local function place_in(ids, id)
  for at, other in ipairs(ids) do
    if other == id then return at - 1 end
  end
end

-- Return the key of a tenant's conversations, by the time of their last change. An older platform had a set there.
local function own_conversations(tenant)
  local key = P .. 'tenant_conversations:' .. tenant
  if redis.call('TYPE', key).ok == 'set' then
    local ids = redis.call('SMEMBERS', key)
    redis.call('DEL', key)
    for _, id in ipairs(ids) do
      local created_us = redis.call('HGET', conversation_key(id), 'created_us')
      if created_us then redis.call('ZADD', key, created_us, id) end
    end
  end
  return key
end

-- Add to the bytes of a conversation, which may be fewer afterwards, and keep it for a while from now on. person: who made it,
-- or false.
local function resize(id, tenant, person, bytes, retention_s)
  local key = conversation_key(id)
  local sums = P .. 'conversation_bytes'
  local expires_us = text(NOW + tonumber(retention_s) * 1000000)
  redis.call('HINCRBY', key, 'bytes', text(bytes))
  redis.call('HINCRBY', sums, tenant, text(bytes))
  redis.call('HINCRBY', sums, '@all', text(bytes))
  redis.call('HSET', key, 'expires_us', expires_us, 'changed_us', text(NOW))
  redis.call('ZADD', P .. 'conversations', expires_us, id)
  redis.call('ZADD', own_conversations(tenant), text(NOW), id)
  if person then redis.call('ZADD', person_conversations_key(tenant, person), text(NOW), id) end
end

-- Return why a conversation, which is '' for a new one, cannot take so many bytes and items more, with the number that
-- is too large; nil if it can. A tenant may hold as many bytes as are free.
-- `bounds`: bytes of the tenant, of all, of a conversation, and its items.
local function without_room(id, tenant, bytes, items, bounds)
  if bytes <= 0 and items <= 0 then return nil end
  local of_tenant, of_all = read_fields(P .. 'conversation_bytes', tenant, '@all')
  local own_bytes, own_items = 0, 0
  if id ~= '' then own_bytes, own_items = read_fields(conversation_key(id), 'bytes', 'items') end
  local sums = { (tonumber(of_tenant) or 0) + bytes, (tonumber(of_all) or 0) + bytes, own_bytes + bytes, own_items + items }
  for at, reason in ipairs({ 'tenant_bytes', 'bytes', 'size', 'items' }) do
    if sums[at] > tonumber(bounds[at]) then return { reason, text(sums[at]) } end
  end
  -- so that some remain for a further tenant, however many hold what they may
  if sums[1] > tonumber(bounds[2]) - (tonumber(of_all) or 0) then return { 'share', text(sums[1]) } end
end

-- Return the parts of an item's value: number, parent, time of its addition (us), JSON. An older platform wrote the
-- number and the JSON alone: such an item follows that with the next lower number.
local function item_parts(value)
  local number, parent, added_us, json = string.match(value, '^(%d+) ([^ {]+) (%d+) (.*)$')
  if number then return number, parent, added_us, json end
  number, json = string.match(value, '^(%d+) (.*)$')
  return number, '=', '0', json
end

local function item_value(number, parent, added_us, json)
  return table.concat({ number, parent, added_us, json }, ' ')
end

-- Return the items that are to be added, as tables of id, parent and JSON, and their bytes, without those that are there
-- already. ARGV has these three of each item from `first` on; `place` is the parent of one whose parent is '^'.
-- Returns nil and the reason if one cannot be added: 'parent' (its parent is not there), 'conflict' (another item has its
-- id), with the id.
local function new_items(id, first, place)
  local key, added, is_new, bytes = conversation_key(id), {}, {}, 0
  for at = first, #ARGV, 3 do
    local item, parent, json = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if parent == '^' then parent = place end
    local stored = redis.call('HGET', key, 'i:' .. item)
    if stored then
      local _, its_parent, _, its_json = item_parts(stored)
      if its_parent ~= parent or its_json ~= json then return nil, 'conflict', item end
    elseif is_new[item] then
      return nil, 'conflict', item
    elseif parent ~= '-' and parent ~= '=' and not is_new[parent] and redis.call('HEXISTS', key, 'i:' .. parent) == 0 then
      return nil, 'parent', parent
    else
      added[#added + 1] = { item, parent, json }
      is_new[item], bytes = true, bytes + #json + ITEM_BYTES
    end
  end
  return added, bytes
end

-- Put items of `new_items` into a conversation.
local function append_items(id, added)
  local key = conversation_key(id)
  local number = redis.call('HINCRBY', key, 'next', #added) - #added
  for at, item in ipairs(added) do
    redis.call('HSET', key, 'i:' .. item[1], item_value(text(number + at - 1), item[2], text(NOW), item[3]))
  end
  redis.call('HINCRBY', key, 'items', #added)
end

-- Return the line of the open turn of a response in a branch, and all other lines; nil if there is none.
local function branch_turn(id, response)
  local found, others = nil, {}
  for line in string.gmatch(redis.call('HGET', conversation_key(id), 'turns') or '', '[^\n]+') do
    if string.match(line, '^%S+') == response then found = line else others[#others + 1] = line end
  end
  return found, others
end

local function write_turns(id, lines)
  if #lines == 0 then
    redis.call('HDEL', conversation_key(id), 'turns')
  else
    redis.call('HSET', conversation_key(id), 'turns', table.concat(lines, '\n'))
  end
end

-- End the turn that a conversation has outside of branches, whose bytes it gives back. Returns them.
local function clear_turn(id, response)
  local key = conversation_key(id)
  local bytes = tonumber(redis.call('HGET', key, 'turn_bytes'))
  redis.call('HDEL', key, 'turn', 'turn_us', 'turn_items', 'turn_bytes', 'turn_parent')
  redis.call('ZREM', P .. 'conversation_turns', id .. ' ' .. response)
  return bytes
end

-- From now on keep a response, which has ended or runs, as long as any other: so many seconds from its end. One that
-- was deleted while it ran is kept for a minute in any case.
local function keep_as_others(response, retention_s)
  local ended_us, store = read_fields(job_key(response), 'ended_us', 'store')
  if store ~= '1' then return end
  if ended_us then
    redis.call('ZADD', P .. 'deadlines', 'XX', text(tonumber(ended_us) + tonumber(retention_s) * 1000000), response)
  else
    redis.call('HSET', job_key(response), 'retention_s', retention_s)
  end
end

-- Remove a conversation. Open turns of it end at the next look.
local function drop_conversation(id)
  local key = conversation_key(id)
  local sums = P .. 'conversation_bytes'
  local tenant, bytes, person = read_fields(key, 'tenant', 'bytes', 'person')
  redis.call('ZREM', P .. 'conversations', id)
  if not tenant then return end
  redis.call('ZREM', own_conversations(tenant), id)
  if person then redis.call('ZREM', person_conversations_key(tenant, person), id) end
  redis.call('UNLINK', key)
  local freed = text(-tonumber(bytes))
  redis.call('HINCRBY', sums, '@all', freed)
  if redis.call('HINCRBY', sums, tenant, freed) <= 0 then redis.call('HDEL', sums, tenant) end
end
