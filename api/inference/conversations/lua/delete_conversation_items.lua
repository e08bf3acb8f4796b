#!lua flags=allow-oom
-- Delete items of a conversation, unless it was changed since the caller read it.
-- KEYS[1] prefix
-- args: id tenant next_number kept_s count pairs..
--   next_number: number of the next item, as the caller read it; kept_s: from this change on
--   count: of items to delete; pairs: for each of them its id and the nearest item above it that stays ('-': none), then
--   for each other item whose parent is deleted its id and its new parent
-- returns {ok} | {gone} | {changed}
-- include: store/base
-- include: api/inference/conversations/conversations
local id, tenant, count = args.id, args.tenant, tonumber(args.count)
local key = conversation_key(id)
local exists, person = has_conversation(id, tenant, '')
if not exists then return { 'gone' } end
if redis.call('HGET', key, 'next') ~= args.next_number then return { 'changed' } end
local heirs, bytes = {}, 0
for at = first.pairs, #ARGV, 2 do
  local field = 'i:' .. ARGV[at]
  local number, _, added_us, json = item_parts(redis.call('HGET', key, field))
  if at < first.pairs + 2 * count then
    heirs[ARGV[at]], bytes = ARGV[at + 1], bytes - #json - ITEM_BYTES
    redis.call('HDEL', key, field)
  else
    redis.call('HSET', key, field, item_value(number, ARGV[at + 1], added_us, json))
  end
end
redis.call('HINCRBY', key, 'items', -count)
redis.call('HINCRBY', key, 'next', 1) -- a turn that is about to begin has read another conversation
local place = redis.call('HGET', key, 'turn_parent')
if heirs[place] then redis.call('HSET', key, 'turn_parent', heirs[place]) end
local _, lines = branch_turn(id, '')
for at, line in ipairs(lines) do
  local before, turn_place, after = string.match(line, '^(%S+ %S+ )(%S+)(.*)$')
  if heirs[turn_place] then lines[at] = before .. heirs[turn_place] .. after end
end
write_turns(id, lines)
resize(id, tenant, person, bytes, args.kept_s)
return { 'ok' }
