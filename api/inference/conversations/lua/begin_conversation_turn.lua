-- Begin the turn of a response in a conversation, unless the conversation was changed since the caller read it.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 id of the response  5 number of the next item, as the caller read it
--         6 items of its input (JSON array)  7 how many  8 kept for (s)  9 most bytes of the tenant
--         10 most bytes in all  11 most bytes of a conversation  12 most items of a conversation
--         13 time until the first look at the response (us)
-- returns {ok} | {gone} | {changed} | {tenant_bytes | bytes | size | items, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant, response = ARGV[2], ARGV[3], ARGV[4]
local key = conversation_key(id)
if not has_conversation(id, tenant) then return { 'gone' } end
local turn, next_number = read_fields(key, 'turn', 'next')
if turn == response then return { 'ok' } end -- a repeated call
if turn or next_number ~= ARGV[5] then return { 'changed' } end
local bytes = #ARGV[6] + ITEM_BYTES * tonumber(ARGV[7])
local problem = without_room(id, tenant, bytes, tonumber(ARGV[7]), { ARGV[9], ARGV[10], ARGV[11], ARGV[12] })
if problem then return problem end
redis.call('HSET', key, 'turn', response, 'turn_us', text(NOW), 'turn_items', ARGV[6], 'turn_bytes', text(bytes))
redis.call('ZADD', P .. 'conversation_turns', text(NOW + tonumber(ARGV[13])), id .. ' ' .. response)
resize(id, tenant, bytes, ARGV[8])
return { 'ok' }
