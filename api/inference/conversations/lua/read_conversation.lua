#!lua flags=no-writes,allow-oom
-- Read a conversation.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 a further field: 'i:' and the id of an item, or 'turn_items'; '*': all; '': none
-- returns its fields and their values (docs/decisions/0021-conversations.md) | {} the tenant has none of this id
-- include: store/base
-- include: api/inference/conversations/conversations
if not has_conversation(ARGV[2], ARGV[3]) then return {} end
if ARGV[4] == '*' then return redis.call('HGETALL', conversation_key(ARGV[2])) end
local reply, names = {}, { 'created_us', 'metadata', 'turn', 'turn_us', ARGV[4] }
for at, value in ipairs(redis.call('HMGET', conversation_key(ARGV[2]), unpack(names))) do
  if value then
    reply[#reply + 1] = names[at]
    reply[#reply + 1] = value
  end
end
return reply
