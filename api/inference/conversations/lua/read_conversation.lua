#!lua flags=no-writes,allow-oom
-- Read a conversation.
-- KEYS[1] prefix
-- args: id tenant person field
--   person: who asks, '' for a key
--   field: a further one: 'turn_items', or that of an item; '*': all; '': none
-- returns its fields and their values (docs/decisions/0045-conversation-trees.md) | {} the tenant, or the person, has none of this id
-- include: store/base
-- include: api/inference/conversations/conversations
if not has_conversation(args.id, args.tenant, args.person) then return {} end
local item = string.sub(args.field, 1, 2) == 'i:' and redis.call('HGET', conversation_key(args.id), args.field)
local is_unplaced = item and select(2, item_parts(item)) == '=' -- only all items tell which one is before it
if args.field == '*' or is_unplaced then return redis.call('HGETALL', conversation_key(args.id)) end
return main_fields(args.id, args.field)
