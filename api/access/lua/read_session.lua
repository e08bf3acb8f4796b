#!lua flags=no-writes,allow-oom
-- Read a session, and whether its admin part is still there. It does not count as a use. Runs while Redis refuses writes.
-- KEYS[1] prefix
-- args: session idle_us admin_idle_us
--   session: digest of its token; idle_us, admin_idle_us: idle time of the session, of its admin part
-- returns {digest of the API key, 1 with the admin part, else 0, JSON of the person or ''} | {} there is no such session
-- include: store/base
-- include: api/access/session
local api_key, as_admin, person = read_session(args.session, tonumber(args.idle_us), tonumber(args.admin_idle_us))
return api_key and { api_key, as_admin and 1 or 0, person or '' } or {}
