#!lua flags=allow-oom
-- Use up a sign-in: a state works once. Runs when memory is full, too: only people whom the provider has signed in get
-- here, and each use is kept for minutes.
-- KEYS[1] prefix
-- args: sign_in use valid_us
--   sign_in: digest of the state; use: random, the same when a call is repeated; valid_us: how long a sign-in is valid
-- returns 1 | 0 it was used before
-- include: store/base
local used, valid_s = P .. 'used_sign_in:' .. args.sign_in, math.ceil(tonumber(args.valid_us) / 1000000)
local by = redis.call('SET', used, args.use, 'NX', 'GET', 'EX', valid_s)
return (not by or by == args.use) and 1 or 0
