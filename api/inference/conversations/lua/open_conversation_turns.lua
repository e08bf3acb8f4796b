#!lua flags=allow-oom
-- Return open turns whose time has come, and look at them again later; remove conversations that have expired.
-- KEYS[1] prefix
-- ARGV    2 most turns  3 most conversations to remove  4 time until the next look at a turn (us)
--         5 how long a response is kept after its end (s)
-- returns for each turn of a conversation that is still there: conversation, response, tenant
-- include: store/base
-- include: api/inference/conversations/conversations
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'conversations', '-inf', text(NOW), 'LIMIT', 0, ARGV[3])) do
  drop_conversation(id)
end
local reply = {}
local turns = P .. 'conversation_turns'
for _, member in ipairs(redis.call('ZRANGEBYSCORE', turns, '-inf', text(NOW), 'LIMIT', 0, ARGV[2])) do
  local id, response = string.match(member, '^(%S+) (%S+)$')
  local tenant = redis.call('HGET', conversation_key(id), 'tenant')
  if tenant then
    redis.call('ZADD', turns, text(NOW + tonumber(ARGV[4])), member)
    for _, value in ipairs({ id, response, tenant }) do reply[#reply + 1] = value end
  else
    redis.call('ZREM', turns, member)
    keep_as_others(response, ARGV[5])
  end
end
return reply
