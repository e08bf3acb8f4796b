#!lua flags=allow-oom
-- Delete a conversation, or one item of it.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 the item's id, or ''  5 kept for (s), from the delete of an item on
-- returns 1 | 0 the tenant has none of this id, or it has no such item
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant = ARGV[2], ARGV[3]
local key = conversation_key(id)
if not has_conversation(id, tenant) then return 0 end
if ARGV[4] == '' then
  drop_conversation(id)
  return 1
end
local item = redis.call('HGET', key, 'i:' .. ARGV[4])
if not item then return 0 end
local number = string.match(item, '^%d+ ')
redis.call('HDEL', key, 'i:' .. ARGV[4])
redis.call('HINCRBY', key, 'items', -1)
redis.call('HINCRBY', key, 'next', 1) -- a turn that is about to begin has read another conversation
resize(id, tenant, #number - #item - ITEM_BYTES, ARGV[5])
return 1
