-- Create a conversation, or change one: its metadata, and items at its end.
-- KEYS[1] prefix
-- args: id tenant create metadata kept_s max_conversations max_tenant_bytes max_bytes
-- args: max_conversation_bytes max_items items..
--   create: 0|1; metadata: JSON, or '' to leave it; max_conversations: of the tenant; max_bytes: in all
--   max_items: of a conversation; items: id and JSON of each
-- returns {ok} | {gone} | {locked} a response of it runs | {count, conversations of the tenant}
--         | {tenant_bytes | bytes | size | items, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant = args.id, args.tenant
local key = conversation_key(id)
local exists = has_conversation(id, tenant)
if exists and (args.create == '1' or #ARGV >= first.items and redis.call('HEXISTS', key, 'i:' .. ARGV[first.items]) == 1) then
  return { 'ok' } -- a repeated call
end
if not exists and args.create ~= '1' then return { 'gone' } end
local bytes, count = #args.metadata, (#ARGV - first.items + 1) / 2
for at = first.items + 1, #ARGV, 2 do bytes = bytes + #ARGV[at] + ITEM_BYTES end
local own = P .. 'tenant_conversations:' .. tenant
if not exists then
  bytes = bytes + CONVERSATION_BYTES
  local held = redis.call('SCARD', own)
  if held >= tonumber(args.max_conversations) then return { 'count', held } end
else
  if count > 0 and redis.call('HEXISTS', key, 'turn') == 1 then return { 'locked' } end
  if args.metadata ~= '' then bytes = bytes - #redis.call('HGET', key, 'metadata') end
end
local bounds = { args.max_tenant_bytes, args.max_bytes, args.max_conversation_bytes, args.max_items }
local problem = without_room(exists and id or '', tenant, bytes, count, bounds)
if problem then return problem end
if not exists then
  redis.call('HSET', key, 'tenant', tenant, 'created_us', text(NOW), 'metadata', '{}', 'next', 0, 'items', 0)
  redis.call('SADD', own, id)
end
if args.metadata ~= '' then redis.call('HSET', key, 'metadata', args.metadata) end
if count > 0 then append_items(id, first.items) end
resize(id, tenant, bytes, args.kept_s)
return { 'ok' }
