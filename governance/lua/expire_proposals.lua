#!lua flags=allow-oom
-- End the proposals whose time is over, and forget those that are kept no longer. Returns the approved ones that wait
-- for their start. Bounded: what is left is done by the next call.
-- KEYS[1] prefix
-- return ids, the oldest approval first
-- include: store/base
-- include: governance/proposal
local BY_PLATFORM = { actor = 'platform', authority = 'platform' }
local MAX_EXPIRED, MAX_FORGOTTEN, MAX_APPROVED = 100, 100, 100
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'open_proposals', '-inf', text(NOW), 'LIMIT', 0, MAX_EXPIRED)) do
  set_proposal_status(BY_PLATFORM, id, 'expired', 'it was not started in time', '')
end
for _, id in ipairs(redis.call('ZRANGE', P .. 'proposals', 0, MAX_FORGOTTEN - 1)) do
  if redis.call('EXISTS', proposal_key(id)) == 1 then break end
  redis.call('ZREM', P .. 'proposals', id)
end
return redis.call('ZRANGE', P .. 'approved_proposals', 0, MAX_APPROVED - 1)
