#!lua flags=allow-oom
-- Count a tenant's attempt at a governed operation, unless it has made as many within the window as it may. Runs when
-- memory is full, too: an unload frees memory. The entries of a tenant are bounded by the limit.
-- KEYS[1] prefix
-- args: tenant max_attempts window_us attempt
--   attempt: by which a repeated call is known
-- returns 0 | the time (us) until an attempt is accepted
-- include: store/base
local key, most, window_us = P .. 'op_attempts:' .. args.tenant, tonumber(args.max_attempts), tonumber(args.window_us)
redis.call('ZREMRANGEBYSCORE', key, '-inf', text(NOW - window_us))
redis.call('ZREMRANGEBYSCORE', key, '(' .. text(NOW + window_us), '+inf') -- the clock was set back
if redis.call('ZSCORE', key, args.attempt) then return 0 end
local count = redis.call('ZCARD', key)
if count >= most then
  local last = redis.call('ZRANGE', key, count - most, count - most, 'WITHSCORES')[2]
  return math.max(1, tonumber(last) + window_us - NOW)
end
redis.call('ZADD', key, text(NOW), args.attempt)
redis.call('EXPIRE', key, math.ceil(window_us / 1000000) + 1)
return 0
