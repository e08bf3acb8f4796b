-- Create a conversation, or change one: its metadata, and further items.
-- KEYS[1] prefix
-- args: id tenant person create metadata kept_s max_conversations max_tenant_bytes max_bytes
-- args: max_conversation_bytes max_items items..
--   person: who asks, '' for a key; create: 0|1; metadata: JSON, or '' to leave it; max_conversations: of the tenant; max_bytes: in all
--   max_items: of a conversation; items: id, parent ('=': the latest item) and JSON of each
-- returns {ok} | {gone} | {locked} a response of it runs | {count, conversations of the tenant}
--         | {parent | conflict, id of an item} | {tenant_bytes | bytes | size | items | share, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant = args.id, args.tenant
local key = conversation_key(id)
local exists, person = has_conversation(id, tenant, args.person)
if exists and args.create == '1' then return { 'ok' } end -- a repeated call
if not exists and args.create ~= '1' then return { 'gone' } end
local added, bytes, item = new_items(id, first.items)
if not added then return { bytes, item } end
if #added == 0 and args.metadata == '' then return { 'ok' } end
bytes = bytes + #args.metadata
if not exists then
  bytes = bytes + CONVERSATION_BYTES
  local held = redis.call('ZCARD', own_conversations(tenant))
  if held >= tonumber(args.max_conversations) then return { 'count', held } end
else
  if #added > 0 and added[1][2] == '=' and redis.call('HEXISTS', key, 'turn') == 1 then return { 'locked' } end
  if args.metadata ~= '' then bytes = bytes - #redis.call('HGET', key, 'metadata') end
end
local bounds = { args.max_tenant_bytes, args.max_bytes, args.max_conversation_bytes, args.max_items }
local problem = without_room(exists and id or '', tenant, bytes, #added, bounds)
if problem then return problem end
if not exists then
  redis.call('HSET', key, 'tenant', tenant, 'created_us', text(NOW), 'metadata', '{}', 'next', 0, 'items', 0)
  person = args.person ~= '' and args.person
  if person then redis.call('HSET', key, 'person', person) end
end
if args.metadata ~= '' then redis.call('HSET', key, 'metadata', args.metadata) end
append_items(id, added)
resize(id, tenant, person, bytes, args.kept_s)
return { 'ok' }
