#!lua flags=allow-oom
-- End the turn of a response: its items become those of the conversation. From then on the response is kept as long as
-- any other. Runs when memory is full, too: the response has ended, and its items are in memory already.
-- KEYS[1] prefix
-- args: id response kept_s response_kept_s items..
--   response_kept_s: how long a response is kept after its end
--   items: id and JSON of each; none when the response has no result
-- returns 1 | 0 the turn had ended
-- include: store/base
-- include: api/inference/conversations/conversations
local id, response = args.id, args.response
local key = conversation_key(id)
local tenant, turn = read_fields(key, 'tenant', 'turn')
if turn ~= response then
  redis.call('ZREM', P .. 'conversation_turns', id .. ' ' .. response)
  keep_as_others(response, args.response_kept_s) -- the conversation may have been deleted since the caller read it
  return 0
end
local bytes = -clear_turn(id, response)
if #ARGV >= first.items then bytes = bytes + append_items(id, first.items) end
resize(id, tenant, bytes, args.kept_s)
keep_as_others(response, args.response_kept_s)
return 1
