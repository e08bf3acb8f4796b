#!lua flags=no-writes,allow-oom
-- Look whether the limits of a tenant admit a request now; it counts for none. `admit` decides.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 cost (tokens, estimated)  5 most requests of the tenant, or 0  6 within this window (us)
--         7 most tokens of the tenant, or 0  8 within this window (us)
-- returns {ok, id, 0} | {requests_limited | tokens_limited, time at which it would be admitted (us; 0: never), the time now}
--         for a tenant with a limit, a list follows, as for `admit`
-- include: store/base
-- include: scheduler/limits
local requests, tokens = nil, nil
if ARGV[5] ~= '0' then
  local most = tonumber(ARGV[5])
  local read = most <= MOST_LOGGED and logged_requests or paced_requests
  requests = read(ARGV[3], most, tonumber(ARGV[6]))
end
if ARGV[7] ~= '0' then
  tokens = counted_tokens(ARGV[3], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[4]))
end
local most, remaining, reset_us = limit_state(requests)
local state = { most, remaining, reset_us, limit_state(tokens) }
if requests and requests.retry_us then return { 'requests_limited', requests.retry_us, NOW, state } end
if tokens and tokens.retry_us then return { 'tokens_limited', tokens.retry_us, NOW, state } end
return { 'ok', ARGV[2], 0, state }
