#!lua flags=allow-oom
-- End a session. Runs when memory is full, too: it only deletes.
-- KEYS[1] prefix
-- args: session
--   session: digest of its token
-- returns 1 | 0 there was none
-- include: store/base
-- include: api/access/session
return end_session(args.session)
