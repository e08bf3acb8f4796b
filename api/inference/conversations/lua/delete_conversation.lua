#!lua flags=allow-oom
-- Delete a conversation, or one item of it.
-- KEYS[1] prefix
-- args: id tenant item kept_s
--   item: the item's id, or ''; kept_s: from the delete of an item on
-- returns 1 | 0 the tenant has none of this id, or it has no such item
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant = args.id, args.tenant
local key = conversation_key(id)
if not has_conversation(id, tenant) then return 0 end
if args.item == '' then
  drop_conversation(id)
  return 1
end
local item = redis.call('HGET', key, 'i:' .. args.item)
if not item then return 0 end
local number = string.match(item, '^%d+ ')
redis.call('HDEL', key, 'i:' .. args.item)
redis.call('HINCRBY', key, 'items', -1)
redis.call('HINCRBY', key, 'next', 1) -- a turn that is about to begin has read another conversation
resize(id, tenant, #number - #item - ITEM_BYTES, args.kept_s)
return 1
