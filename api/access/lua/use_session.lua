#!lua flags=allow-oom
-- Record a use of a session, and of its admin part if that is still there. A session that was idle for too long ends.
-- KEYS[1] prefix
-- ARGV    2 session (digest of its token)  3 idle time (us)  4 idle time of the admin part (us)  5 1: the use is recorded
-- returns {digest of the API key, 1 with the admin part, else 0} | {} there is no such session
-- include: store/base
-- include: api/access/session
local session = P .. 'session:' .. ARGV[2]
local api_key, used_us, admin_used_us = unpack(redis.call('HMGET', session, 'key', 'used_us', 'admin_used_us'))
if not api_key then return {} end
if NOW - tonumber(used_us) >= tonumber(ARGV[3]) then
  end_session(ARGV[2])
  return {}
end
local as_admin = admin_used_us and NOW - tonumber(admin_used_us) < tonumber(ARGV[4])
if admin_used_us and not as_admin then redis.call('HDEL', session, 'admin_used_us') end
if ARGV[5] == '1' then use_session(ARGV[2], api_key, tonumber(ARGV[3]), as_admin) end
return { api_key, as_admin and 1 or 0 }
