#!lua flags=allow-oom
-- Note that a browser goes to the provider to sign in. The oldest sign-in of an address ends when it has as many as it
-- may. Runs when memory is full, too: their number is bounded.
-- KEYS[1] prefix
-- args: sign_in browser redirect_url to as_admin address valid_us max_of_address max
--   sign_in: digest of the state; browser: digest of the cookie; to: the page to return to;
--   as_admin: 1 for a session with its admin part, else 0; address: of the client
-- returns 1 | 0 there are too many
-- include: store/base
local all, of_address = P .. 'sign_ins', P .. 'address_sign_ins:' .. args.address
local sign_in = P .. 'sign_in:' .. args.sign_in
local ends_us, valid_s = NOW + tonumber(args.valid_us), math.ceil(tonumber(args.valid_us) / 1000000)
redis.call('ZREMRANGEBYSCORE', all, '-inf', text(NOW))
redis.call('ZREMRANGEBYSCORE', of_address, '-inf', text(NOW))
while redis.call('ZCARD', of_address) >= tonumber(args.max_of_address) do
  local oldest = redis.call('ZPOPMIN', of_address)[1]
  local ended = P .. 'sign_in:' .. oldest
  redis.call('DEL', ended)
  redis.call('ZREM', all, oldest)
end
if redis.call('ZCARD', all) >= tonumber(args.max) then return 0 end
redis.call('HSET', sign_in, 'browser', args.browser, 'redirect_url', args.redirect_url, 'to', args.to,
  'as_admin', args.as_admin, 'ends_us', text(ends_us))
redis.call('EXPIRE', sign_in, valid_s)
redis.call('ZADD', all, text(ends_us), args.sign_in)
redis.call('ZADD', of_address, text(ends_us), args.sign_in)
redis.call('EXPIRE', of_address, valid_s)
return 1
