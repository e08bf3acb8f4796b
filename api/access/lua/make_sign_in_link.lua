#!lua flags=allow-oom
-- Make a link that signs in once, in place of an earlier one of the same key. Runs when memory is full, too: a key has
-- one link at most.
-- KEYS[1] prefix
-- args: link key valid_us
--   link: digest of its token; key: digest of the API key; valid_us: how long it is valid
-- returns 1
-- include: store/base
local latest = P .. 'latest_link:' .. args.key
local earlier = redis.call('GET', latest)
if earlier and earlier ~= args.link then
  local link = P .. 'sign_in_link:' .. earlier
  redis.call('DEL', link)
end
local link, valid_s = P .. 'sign_in_link:' .. args.link, math.ceil(tonumber(args.valid_us) / 1000000)
redis.call('HSET', link, 'key', args.key, 'ends_us', text(NOW + tonumber(args.valid_us)))
redis.call('EXPIRE', link, valid_s)
redis.call('SET', latest, args.link, 'EX', valid_s)
return 1
