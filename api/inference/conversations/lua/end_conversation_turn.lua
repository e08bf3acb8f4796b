#!lua flags=allow-oom
-- End the turn of a response: its items become those of the conversation. From then on the response is kept as long as
-- any other. Runs when memory is full, too: the response has ended, and its items are in memory already.
-- KEYS[1] prefix
-- ARGV    2 id  3 response  4 kept for (s)  5 how long a response is kept after its end (s)
--         6.. id and JSON of each item; none when the response has no result
-- returns 1 | 0 the turn had ended
-- include: store/base
-- include: api/inference/conversations/conversations
local id, response = ARGV[2], ARGV[3]
local key = conversation_key(id)
local tenant, turn = read_fields(key, 'tenant', 'turn')
if turn ~= response then
  redis.call('ZREM', P .. 'conversation_turns', id .. ' ' .. response)
  keep_as_others(response, ARGV[5]) -- the conversation may have been deleted since the caller read it
  return 0
end
local bytes = -clear_turn(id, response)
if #ARGV > 5 then bytes = bytes + append_items(id, 6) end
resize(id, tenant, bytes, ARGV[4])
keep_as_others(response, ARGV[5])
return 1
