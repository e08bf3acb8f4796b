#!lua flags=no-writes,allow-oom
-- Look whether the limits of a tenant admit a request now; it counts for none. `admit` decides.
-- KEYS[1] prefix
-- args: id tenant unknown_name cost max_requests request_window_us max_tokens token_window_us budget_tokens budget_us
--   unknown_name: of a caller that is no tenant, or ''
--   cost: tokens, estimated; max_requests, max_tokens: most of the tenant within the window that follows, or 0
--   budget_tokens, budget_us: as for `admit`
-- returns {ok, id, 0} | {budget_used, .. as for `admit`}
--         | {requests_limited | tokens_limited, time at which it would be admitted (us; 0: never), the time now}
--         for a tenant with a limit, a list follows, as for `admit`
-- include: store/base
-- include: scheduler/limits
-- include: scheduler/budget
local requests, tokens = nil, nil
local request_window_us, token_window_us = tonumber(args.request_window_us), tonumber(args.token_window_us)
local account = account_of(args.tenant, args.unknown_name, math.max(request_window_us, token_window_us))
if args.max_requests ~= '0' then
  local most = tonumber(args.max_requests)
  local read = most <= MAX_LOGGED and logged_requests or paced_requests
  requests = read(account, most, request_window_us)
end
if args.max_tokens ~= '0' then
  tokens = counted_tokens(account, tonumber(args.max_tokens), token_window_us, tonumber(args.cost))
end
local most, remaining, reset_us = limit_state(requests)
local state = { most, remaining, reset_us, limit_state(tokens) }
local used_up = used_budget(args.tenant, tonumber(args.budget_tokens), tonumber(args.budget_us))
if used_up then
  used_up[#used_up + 1] = state
  return { 'budget_used', unpack(used_up) }
end
if requests and requests.retry_us then return { 'requests_limited', requests.retry_us, NOW, state } end
if tokens and tokens.retry_us then return { 'tokens_limited', tokens.retry_us, NOW, state } end
return { 'ok', args.id, 0, state }
