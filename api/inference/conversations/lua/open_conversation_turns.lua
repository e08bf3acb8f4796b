#!lua flags=allow-oom
-- Return open turns whose time has come, and look at them again later; remove conversations that have expired.
-- KEYS[1] prefix
-- args: max_turns max_expired poll_us response_kept_s
--   max_expired: most conversations to remove; poll_us: time until the next look at a turn
--   response_kept_s: how long a response is kept after its end
-- returns for each turn of a conversation that is still there: conversation, response, tenant
-- include: store/base
-- include: api/inference/conversations/conversations
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'conversations', '-inf', text(NOW), 'LIMIT', 0, args.max_expired)) do
  drop_conversation(id)
end
local reply = {}
local turns = P .. 'conversation_turns'
for _, member in ipairs(redis.call('ZRANGEBYSCORE', turns, '-inf', text(NOW), 'LIMIT', 0, args.max_turns)) do
  local id, response = string.match(member, '^(%S+) (%S+)$')
  local tenant = redis.call('HGET', conversation_key(id), 'tenant')
  if tenant then
    redis.call('ZADD', turns, text(NOW + tonumber(args.poll_us)), member)
    for _, value in ipairs({ id, response, tenant }) do reply[#reply + 1] = value end
  else
    redis.call('ZREM', turns, member)
    keep_as_others(response, args.response_kept_s)
  end
end
return reply
