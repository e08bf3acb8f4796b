#!lua flags=allow-oom
-- Return open turns whose time has come, and look at them again later; remove conversations that have expired.
-- KEYS[1] prefix
-- ARGV    2 most turns  3 most conversations to remove  4 time until the next look at a turn (us)
-- returns for each turn: conversation, response, tenant
-- include: base
-- include: conversations
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'conversations', '-inf', text(NOW), 'LIMIT', 0, ARGV[3])) do
  drop_conversation(id)
end
local reply = {}
local turns = P .. 'conversation_turns'
for _, member in ipairs(redis.call('ZRANGEBYSCORE', turns, '-inf', text(NOW), 'LIMIT', 0, ARGV[2])) do
  local id, response = string.match(member, '^(%S+) (%S+)$')
  redis.call('ZADD', turns, text(NOW + tonumber(ARGV[4])), member)
  for _, value in ipairs({ id, response, redis.call('HGET', conversation_key(id), 'tenant') or '' }) do
    reply[#reply + 1] = value
  end
end
return reply
