#!lua flags=allow-oom
-- End the turn of a response: its items become those of the conversation. From then on the response is kept as long as
-- any other. Runs when memory is full, too: the response has ended, and its items are in memory already.
-- KEYS[1] prefix
-- args: id response kept_s response_kept_s items..
--   response_kept_s: how long a response is kept after its end
--   items: id, parent ('^': the turn's place) and JSON of each; none when nothing is left of the response
-- returns 1 | 0 the turn had ended
-- include: store/base
-- include: api/inference/conversations/conversations
local id, response = args.id, args.response
local key = conversation_key(id)
local tenant, turn, place, person = read_fields(key, 'tenant', 'turn', 'turn_parent', 'person')
local line, lines = branch_turn(id, response)
local is_open, bytes = line or turn == response, 0
if line then
  place = string.match(line, '^%S+ %S+ (%S+)')
  write_turns(id, lines)
elseif is_open then
  bytes = -clear_turn(id, response)
end
redis.call('ZREM', P .. 'conversation_turns', id .. ' ' .. response)
if is_open then
  local added, more = new_items(id, first.items, place or '=')
  if added then -- else a client has added an item with an id of the response's
    append_items(id, added)
    bytes = bytes + more
  end
  resize(id, tenant, person, bytes, args.kept_s)
end
keep_as_others(response, args.response_kept_s) -- the conversation may have been deleted since the caller read it
return is_open and 1 or 0
