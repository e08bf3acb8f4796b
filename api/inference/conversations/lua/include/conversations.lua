-- Included by the scripts of conversations: their bytes, their time, and their end.
local CONVERSATION_BYTES, ITEM_BYTES = 512, 128 -- beside the texts

-- Return whether a tenant has a conversation, which has not expired.
local function has_conversation(id, tenant)
  local owner, expires_us = read_fields(conversation_key(id), 'tenant', 'expires_us')
  return owner == tenant and tonumber(expires_us) > NOW
end

-- Add to the bytes of a conversation, which may be fewer afterwards, and keep it for a while from now on.
local function resize(id, tenant, bytes, retention_s)
  local key = conversation_key(id)
  local sums = P .. 'conversation_bytes'
  local expires_us = text(NOW + tonumber(retention_s) * 1000000)
  redis.call('HINCRBY', key, 'bytes', text(bytes))
  redis.call('HINCRBY', sums, tenant, text(bytes))
  redis.call('HINCRBY', sums, '@all', text(bytes))
  redis.call('HSET', key, 'expires_us', expires_us)
  redis.call('ZADD', P .. 'conversations', expires_us, id)
end

-- Return why a conversation, which is '' for a new one, cannot take so many bytes and items more, with the number that
-- is too large; nil if it can. `bounds`: bytes of the tenant, of all, of a conversation, and its items.
local function without_room(id, tenant, bytes, items, bounds)
  if bytes <= 0 and items <= 0 then return nil end
  local of_tenant, of_all = read_fields(P .. 'conversation_bytes', tenant, '@all')
  local own_bytes, own_items = 0, 0
  if id ~= '' then own_bytes, own_items = read_fields(conversation_key(id), 'bytes', 'items') end
  local sums = { (tonumber(of_tenant) or 0) + bytes, (tonumber(of_all) or 0) + bytes, own_bytes + bytes, own_items + items }
  for at, reason in ipairs({ 'tenant_bytes', 'bytes', 'size', 'items' }) do
    if sums[at] > tonumber(bounds[at]) then return { reason, text(sums[at]) } end
  end
end

-- Put items at the end of a conversation; ARGV has the id and the JSON of each from `first` on. Returns their bytes.
local function append_items(id, first)
  local key = conversation_key(id)
  local bytes, count = 0, (#ARGV - first + 1) / 2
  local number = redis.call('HINCRBY', key, 'next', count) - count
  for at = first, #ARGV, 2 do
    redis.call('HSET', key, 'i:' .. ARGV[at], text(number) .. ' ' .. ARGV[at + 1])
    number, bytes = number + 1, bytes + #ARGV[at + 1] + ITEM_BYTES
  end
  redis.call('HINCRBY', key, 'items', count)
  return bytes
end

-- End the turn of a conversation, whose bytes it gives back. Returns them.
local function clear_turn(id, response)
  local key = conversation_key(id)
  local bytes = tonumber(redis.call('HGET', key, 'turn_bytes'))
  redis.call('HDEL', key, 'turn', 'turn_us', 'turn_items', 'turn_bytes')
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

-- Remove a conversation. An open turn of it ends at the next look.
local function drop_conversation(id)
  local key = conversation_key(id)
  local sums = P .. 'conversation_bytes'
  local tenant, bytes = read_fields(key, 'tenant', 'bytes')
  redis.call('ZREM', P .. 'conversations', id)
  if not tenant then return end
  redis.call('SREM', P .. 'tenant_conversations:' .. tenant, id)
  redis.call('UNLINK', key)
  redis.call('HINCRBY', sums, '@all', '-' .. bytes)
  if redis.call('HINCRBY', sums, tenant, '-' .. bytes) <= 0 then redis.call('HDEL', sums, tenant) end
end
