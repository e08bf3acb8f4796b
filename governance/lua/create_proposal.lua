-- Store a new proposal, unless there are too many.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant of the proposer  4 most open proposals of a tenant  5 most open proposals in all
--         6 time until its end (us)  7 most proposals that are kept
--         8 who proposes it (JSON: actor, authority, ...)  9 its operation  10.. names and values of its fields
-- returns {ok} | {tenant} its tenant has the most | {all} there are the most
-- include: store/base
-- include: governance/proposal
local id, tenant = ARGV[2], ARGV[3]
local key, of_tenant = proposal_key(id), P .. 'proposals_of:' .. tenant
if redis.call('EXISTS', key) == 1 then return { 'ok' } end
if redis.call('SCARD', of_tenant) >= tonumber(ARGV[4]) then return { 'tenant' } end
if redis.call('ZCARD', P .. 'open_proposals') >= tonumber(ARGV[5]) then return { 'all' } end
if redis.call('ZCARD', P .. 'proposals') >= tonumber(ARGV[7]) then
  -- the oldest that has ended: one of these, since no more than these are open
  for _, oldest in ipairs(redis.call('ZRANGE', P .. 'proposals', 0, ARGV[5])) do
    if not redis.call('ZSCORE', P .. 'open_proposals', oldest) then
      redis.call('DEL', proposal_key(oldest))
      redis.call('ZREM', P .. 'proposals', oldest)
      break
    end
  end
end
-- a signature covers the end, in whole seconds
local expires_us = text(math.floor((NOW + tonumber(ARGV[6])) / 1000000) * 1000000)
redis.call('HSET', key, 'tenant', tenant, 'created_us', text(NOW), 'expires_us', expires_us,
  'operation', ARGV[9], unpack(ARGV, 10))
redis.call('ZADD', P .. 'proposals', text(NOW), id)
redis.call('ZADD', P .. 'open_proposals', expires_us, id)
redis.call('SADD', of_tenant, id)
local by = cjson.decode(ARGV[8])
set_proposal_status(by, id, 'open', '', '')
append_audit(by, 'propose', id, 'done', { proposed = ARGV[9] })
return { 'ok' }
