-- Begin the turn of a response in a conversation, unless the conversation was changed since the caller read it.
-- KEYS[1] prefix
-- args: id tenant response next_number parent items item_count kept_s max_tenant_bytes max_bytes
-- args: max_conversation_bytes max_items poll_us
--   response: its id; next_number: number of the next item, as the caller read it; items: of its input (JSON array)
--   parent: of the first item of the input: the id of the latest item, '-' if there is none
--   max_bytes: in all; max_items: of a conversation; poll_us: time until the first look at the response
-- returns {ok} | {gone} | {changed} | {tenant_bytes | bytes | size | items | share, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant, response = args.id, args.tenant, args.response
local key = conversation_key(id)
local exists, person = has_conversation(id, tenant, '')
if not exists then return { 'gone' } end
local turn, next_number = read_fields(key, 'turn', 'next')
if turn == response then return { 'ok' } end -- a repeated call
if turn or next_number ~= args.next_number then return { 'changed' } end
local bytes = #args.items + ITEM_BYTES * tonumber(args.item_count)
local bounds = { args.max_tenant_bytes, args.max_bytes, args.max_conversation_bytes, args.max_items }
local problem = without_room(id, tenant, bytes, tonumber(args.item_count), bounds)
if problem then return problem end
redis.call('HSET', key, 'turn', response, 'turn_us', text(NOW), 'turn_items', args.items, 'turn_bytes', text(bytes),
  'turn_parent', args.parent)
redis.call('ZADD', P .. 'conversation_turns', text(NOW + tonumber(args.poll_us)), id .. ' ' .. response)
resize(id, tenant, person, bytes, args.kept_s)
return { 'ok' }
