-- Add the input of a response to a branch of a conversation, and begin its turn there.
-- KEYS[1] prefix
-- args: id tenant response place continues kept_s max_tenant_bytes max_bytes max_conversation_bytes max_items
-- args: max_turns poll_us items..
--   response: its id; place: the item that the output follows, which is the last one of the input, '-' for a root
--   continues: 0|1, whether the output continues the text of that item
--   max_bytes: in all; max_items: of a conversation; max_turns: open ones of a conversation
--   poll_us: time until the first look at the response; items: id, parent and JSON of each item of the input
-- returns {ok} | {gone} | {locked, open turns} | {parent | conflict, id of an item}
--         | {tenant_bytes | bytes | size | items | share, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant, response = args.id, args.tenant, args.response
local key = conversation_key(id)
local exists, person = has_conversation(id, tenant, '')
if not exists then return { 'gone' } end
local turn, lines = branch_turn(id, response)
if turn then return { 'ok' } end -- a repeated call
if #lines >= tonumber(args.max_turns) then return { 'locked', #lines } end
local added, bytes, item = new_items(id, first.items)
if not added then return { bytes, item } end
if #ARGV < first.items and args.place ~= '-' and redis.call('HEXISTS', key, 'i:' .. args.place) == 0 then
  return { 'parent', args.place }
end
local bounds = { args.max_tenant_bytes, args.max_bytes, args.max_conversation_bytes, args.max_items }
local problem = without_room(id, tenant, bytes, #added, bounds)
if problem then return problem end
append_items(id, added)
lines[#lines + 1] = table.concat({ response, text(NOW), args.place, args.continues }, ' ')
write_turns(id, lines)
redis.call('ZADD', P .. 'conversation_turns', text(NOW + tonumber(args.poll_us)), id .. ' ' .. response)
resize(id, tenant, person, bytes, args.kept_s)
return { 'ok' }
