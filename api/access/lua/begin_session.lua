#!lua flags=allow-oom
-- Begin a session of an API key, or of the key that a sign-in link was made for, and use the link up. Ends the session
-- that the browser had before, and the least recently used one when the key has as many as it may. Runs when memory is
-- full, too: an operator who unloads a model frees memory, and the sessions of a key are bounded.
-- KEYS[1] prefix
-- ARGV    2 session (digest of its token)  3 digest of the API key, '' with a link  4 link (digest of its token), or ''
--         5 1 with the admin part, else 0  6 idle time (us)  7 most sessions of a key  8 earlier session, or ''
-- returns {digest of the key} | {} there is no such link
-- include: store/base
-- include: api/access/session
local session, api_key = P .. 'session:' .. ARGV[2], ARGV[3]
local begun = redis.call('HGET', session, 'key')
if begun then return { begun } end
if ARGV[4] ~= '' then
  local link = P .. 'sign_in_link:' .. ARGV[4]
  local made_for, ends_us = unpack(redis.call('HMGET', link, 'key', 'ends_us'))
  redis.call('DEL', link)
  if not made_for or tonumber(ends_us) <= NOW then return {} end
  api_key = made_for
end
end_session(ARGV[8])
local idle_us, sessions = tonumber(ARGV[6]), P .. 'key_sessions:' .. api_key
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', text(NOW - idle_us))
while redis.call('ZCARD', sessions) >= tonumber(ARGV[7]) do
  end_session(redis.call('ZRANGE', sessions, 0, 0)[1])
end
redis.call('HSET', session, 'key', api_key, 'began_us', text(NOW))
use_session(ARGV[2], api_key, idle_us, ARGV[5] == '1')
return { api_key }
