#!lua flags=allow-oom
-- Begin a session of an API key or of a person, or of the key that a sign-in link was made for, and use the link up. Ends the session
-- that the browser had before, and the least recently used one when the key has as many as it may. Runs when memory is
-- full, too: an operator who unloads a model frees memory, and the sessions of a key are bounded.
-- KEYS[1] prefix
-- args: session key link as_admin idle_us max_sessions earlier person ends_us address agent
--   session: digest of its token; key: digest of the API key, '' with a link; link: digest of its token, or ''
--   person: JSON of the person that signed in, then key is its id; '' with a key; ends_us: longest time, '' without one
--   address, agent: of the browser
--   as_admin: 1 with the admin part, else 0; max_sessions: of a key; earlier: session, or ''
-- returns {digest of the key} | {} there is no such link
-- include: store/base
-- include: api/access/session
local session, api_key = P .. 'session:' .. args.session, args.key
local begun = redis.call('HGET', session, 'key')
if begun then return { begun } end
if args.link ~= '' then
  local link = P .. 'sign_in_link:' .. args.link
  local made_for, ends_us = unpack(redis.call('HMGET', link, 'key', 'ends_us'))
  redis.call('DEL', link)
  if not made_for or tonumber(ends_us) <= NOW then return {} end
  api_key = made_for
end
end_session(args.earlier)
local idle_us, sessions = tonumber(args.idle_us), P .. 'key_sessions:' .. api_key
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', text(NOW - idle_us))
redis.call('ZREMRANGEBYSCORE', P .. 'sessions', '-inf', text(NOW - idle_us))
while redis.call('ZCARD', sessions) >= tonumber(args.max_sessions) do
  end_session(redis.call('ZRANGE', sessions, 0, 0)[1])
end
redis.call('HSET', session, 'key', api_key, 'began_us', text(NOW), 'address', args.address, 'agent', args.agent)
if args.person ~= '' then redis.call('HSET', session, 'person', args.person) end
if args.ends_us ~= '' then redis.call('HSET', session, 'ends_us', text(NOW + tonumber(args.ends_us))) end
use_session(args.session, api_key, idle_us, args.as_admin == '1')
return { api_key }
