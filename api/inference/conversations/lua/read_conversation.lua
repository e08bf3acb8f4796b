#!lua flags=no-writes,allow-oom
-- Read a conversation.
-- KEYS[1] prefix
-- args: id tenant field
--   field: a further one: 'i:' and the id of an item, or 'turn_items'; '*': all; '': none
-- returns its fields and their values (docs/decisions/0021-conversations.md) | {} the tenant has none of this id
-- include: store/base
-- include: api/inference/conversations/conversations
if not has_conversation(args.id, args.tenant) then return {} end
if args.field == '*' then return redis.call('HGETALL', conversation_key(args.id)) end
local reply, names = {}, { 'created_us', 'metadata', 'turn', 'turn_us', args.field }
for at, value in ipairs(redis.call('HMGET', conversation_key(args.id), unpack(names))) do
  if value then
    reply[#reply + 1] = names[at]
    reply[#reply + 1] = value
  end
end
return reply
