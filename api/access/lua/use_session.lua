#!lua flags=allow-oom
-- Record a use of a session, and of its admin part if that is still there. A session that was idle for too long ends.
-- KEYS[1] prefix
-- args: session idle_us admin_idle_us
--   session: digest of its token; idle_us, admin_idle_us: idle time of the session, of its admin part
-- returns {digest of the API key, 1 with the admin part, else 0, JSON of the person or ''} | {} there is no such session
-- include: store/base
-- include: api/access/session
local idle_us = tonumber(args.idle_us)
local api_key, as_admin, person, admin_used_us = read_session(args.session, idle_us, tonumber(args.admin_idle_us))
if not api_key then
  end_session(args.session)
  return {}
end
if admin_used_us and not as_admin then redis.call('HDEL', P .. 'session:' .. args.session, 'admin_used_us') end
use_session(args.session, api_key, idle_us, as_admin)
return { api_key, as_admin and 1 or 0, person or '' }
