#!lua flags=allow-oom
-- Make a link that signs in once, in place of an earlier one of the same key. Runs when memory is full, too: a key has
-- one link at most.
-- KEYS[1] prefix
-- ARGV    2 link (digest of its token)  3 digest of the API key  4 how long it is valid (us)
-- returns 1
-- include: store/base
local latest = P .. 'latest_link:' .. ARGV[3]
local earlier = redis.call('GET', latest)
if earlier and earlier ~= ARGV[2] then
  local link = P .. 'sign_in_link:' .. earlier
  redis.call('DEL', link)
end
local link, valid_s = P .. 'sign_in_link:' .. ARGV[2], math.ceil(tonumber(ARGV[4]) / 1000000)
redis.call('HSET', link, 'key', ARGV[3], 'ends_us', text(NOW + tonumber(ARGV[4])))
redis.call('EXPIRE', link, valid_s)
redis.call('SET', latest, ARGV[2], 'EX', valid_s)
return 1
