#!lua flags=allow-oom
-- Use up a sign-in: a state works once. Runs when memory is full, too: it only deletes.
-- KEYS[1] prefix
-- args: sign_in
--   sign_in: digest of the state
-- returns {digest of the browser's cookie, redirect_url, to, '1' with the admin part, else '0'} | {} there is no such sign-in, or its time has passed
-- include: store/base
local sign_in = P .. 'sign_in:' .. args.sign_in
local browser, redirect_url, to, as_admin, ends_us =
  unpack(redis.call('HMGET', sign_in, 'browser', 'redirect_url', 'to', 'as_admin', 'ends_us'))
if not browser then return {} end
redis.call('DEL', sign_in)
redis.call('ZREM', P .. 'sign_ins', args.sign_in)
if NOW >= tonumber(ends_us) then return {} end
return { browser, redirect_url, to, as_admin }
