#!lua flags=allow-oom
-- List conversations of a tenant, or those that a person has made in it, the latest changed first. (A set of an older
-- platform is converted: not read-only.)
-- KEYS[1] prefix
-- args: tenant person after most
--   person: who asks, '' for a key
--   after: id of the conversation before the first one, or ''; most: conversations of the page
-- returns {how many the tenant has, their bytes, 1 if there are more else 0, id, {field, value, ..}, ..} | {} the list has no
-- conversation with the id `after`
-- include: store/base
-- include: api/inference/conversations/conversations
local all, start = own_conversations(args.tenant), 0
local own = args.person == '' and all or person_conversations_key(args.tenant, args.person)
if args.after ~= '' then
  local rank = redis.call('ZREVRANK', own, args.after)
  if not rank then return {} end
  start = rank + 1
end
local count, most = redis.call('ZCARD', own), tonumber(args.most)
local bytes = redis.call('HGET', P .. 'conversation_bytes', args.tenant) or '0'
local reply = { own == all and count or redis.call('ZCARD', all), tonumber(bytes), count > start + most and 1 or 0 }
for _, id in ipairs(redis.call('ZREVRANGE', own, start, start + most - 1)) do
  if has_conversation(id, args.tenant, args.person) then
    reply[#reply + 1] = id
    reply[#reply + 1] = main_fields(id)
  end
end
return reply
