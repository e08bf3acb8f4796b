-- Create a conversation, or change one: its metadata, and items at its end.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 create it: 0|1  5 metadata (JSON), or '' to leave it  6 kept for (s)
--         7 most conversations of the tenant  8 most bytes of the tenant  9 most bytes in all
--         10 most bytes of a conversation  11 most items of a conversation  12.. id and JSON of each item
-- returns {ok} | {gone} | {locked} a response of it runs | {count, conversations of the tenant}
--         | {tenant_bytes | bytes | size | items, what it would be}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant = ARGV[2], ARGV[3]
local key = conversation_key(id)
local exists = has_conversation(id, tenant)
if exists and (ARGV[4] == '1' or #ARGV > 11 and redis.call('HEXISTS', key, 'i:' .. ARGV[12]) == 1) then
  return { 'ok' } -- a repeated call
end
if not exists and ARGV[4] ~= '1' then return { 'gone' } end
local bytes, count = #ARGV[5], (#ARGV - 11) / 2
for at = 13, #ARGV, 2 do bytes = bytes + #ARGV[at] + ITEM_BYTES end
local own = P .. 'tenant_conversations:' .. tenant
if not exists then
  bytes = bytes + CONVERSATION_BYTES
  local held = redis.call('SCARD', own)
  if held >= tonumber(ARGV[7]) then return { 'count', held } end
else
  if count > 0 and redis.call('HEXISTS', key, 'turn') == 1 then return { 'locked' } end
  if ARGV[5] ~= '' then bytes = bytes - #redis.call('HGET', key, 'metadata') end
end
local problem = without_room(exists and id or '', tenant, bytes, count, { ARGV[8], ARGV[9], ARGV[10], ARGV[11] })
if problem then return problem end
if not exists then
  redis.call('HSET', key, 'tenant', tenant, 'created_us', text(NOW), 'metadata', '{}', 'next', 0, 'items', 0)
  redis.call('SADD', own, id)
end
if ARGV[5] ~= '' then redis.call('HSET', key, 'metadata', ARGV[5]) end
if count > 0 then append_items(id, 12) end
resize(id, tenant, bytes, ARGV[6])
return { 'ok' }
