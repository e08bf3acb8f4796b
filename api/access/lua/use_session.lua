#!lua flags=allow-oom
-- Record a use of a session, and of its admin part if that is still there. A session that was idle for too long ends.
-- KEYS[1] prefix
-- args: session idle_us admin_idle_us renews
--   session: digest of its token; idle_us, admin_idle_us: idle time of the session, of its admin part
--   renews: 1: the use is recorded
-- returns {digest of the API key, 1 with the admin part, else 0, JSON of the person or ''} | {} there is no such session
-- include: store/base
-- include: api/access/session
local session = P .. 'session:' .. args.session
local api_key, used_us, admin_used_us, person, ends_us =
  unpack(redis.call('HMGET', session, 'key', 'used_us', 'admin_used_us', 'person', 'ends_us'))
if not api_key then return {} end
if NOW - tonumber(used_us) >= tonumber(args.idle_us) or ends_us and NOW >= tonumber(ends_us) then
  end_session(args.session)
  return {}
end
local as_admin = admin_used_us and NOW - tonumber(admin_used_us) < tonumber(args.admin_idle_us)
if admin_used_us and not as_admin then redis.call('HDEL', session, 'admin_used_us') end
if args.renews == '1' then use_session(args.session, api_key, tonumber(args.idle_us), as_admin) end
return { api_key, as_admin and 1 or 0, person or '' }
