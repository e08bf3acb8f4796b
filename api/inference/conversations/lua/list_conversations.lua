#!lua flags=no-writes,allow-oom
-- List conversations of a tenant, or those that a person has made in it, the latest changed first. Runs while Redis refuses
-- writes.
-- KEYS[1] prefix
-- args: tenant person after most
--   person: who asks, '' for a key
--   after: id of the conversation before the first one, or ''; most: conversations of the page
-- returns {how many the tenant has, their bytes, 1 if there are more else 0, id, {field, value, ..}, ..} | {} the list has no
-- conversation with the id `after`
-- include: store/base
-- include: api/inference/conversations/conversations
local all, start, most = P .. 'tenant_conversations:' .. args.tenant, 0, tonumber(args.most)
local own = args.person == '' and all or person_conversations_key(args.tenant, args.person)
local of_set = redis.call('TYPE', all).ok == 'set' and conversations_of_set(all) -- of an older platform
local in_set = own == all and of_set
local count = of_set and #of_set or redis.call('ZCARD', all)
if args.after ~= '' then
  local rank = in_set and place_in(in_set, args.after) or not in_set and redis.call('ZREVRANK', own, args.after)
  if not rank then return {} end
  start = rank + 1
end
local own_count = own == all and count or redis.call('ZCARD', own)
local bytes = redis.call('HGET', P .. 'conversation_bytes', args.tenant) or '0'
local reply = { count, tonumber(bytes), own_count > start + most and 1 or 0 }
local ids = in_set and { unpack(in_set, start + 1, start + most) } or redis.call('ZREVRANGE', own, start, start + most - 1)
for _, id in ipairs(ids) do
  if has_conversation(id, args.tenant, args.person) then
    reply[#reply + 1] = id
    reply[#reply + 1] = main_fields(id)
  end
end
return reply
