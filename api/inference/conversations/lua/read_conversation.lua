#!lua flags=no-writes,allow-oom
-- Read a conversation.
-- KEYS[1] prefix
-- args: id tenant field
--   field: a further one: 'turn_items'; '*': all; '': none
-- returns its fields and their values (docs/decisions/0045-conversation-trees.md) | {} the tenant has none of this id
-- include: store/base
-- include: api/inference/conversations/conversations
if not has_conversation(args.id, args.tenant) then return {} end
if args.field == '*' then return redis.call('HGETALL', conversation_key(args.id)) end
return main_fields(args.id, args.field)
