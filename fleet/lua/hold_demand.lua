#!lua flags=allow-oom
-- Take the turn to decide which models to load for the requests that wait, or give it back: one process at a time decides.
-- KEYS[1] prefix
-- args: holder lease_us
--   holder: names the caller; lease_us: how long the turn is kept if the caller ends, '' to give it back
-- returns 1 | 0 when another process has the turn
-- include: store/base
local key = P .. 'demand_turn'
local holder, until_us = string.match(redis.call('GET', key) or '', '^(%S+) (%d+)$')
if holder and holder ~= args.holder and NOW < tonumber(until_us) then return 0 end
if args.lease_us == '' then
  if holder == args.holder then redis.call('DEL', key) end
  return 1
end
redis.call('SET', key, args.holder .. ' ' .. text(NOW + tonumber(args.lease_us)))
return 1
