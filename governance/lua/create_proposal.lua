-- Store a new proposal, unless there are too many.
-- KEYS[1] prefix
-- args: id tenant max_tenant_open max_open ttl_us max_proposals by operation fields..
--   tenant: of the proposer; max_tenant_open: most open proposals of a tenant; max_open: most in all
--   ttl_us: time until its end; max_proposals: most proposals that are kept
--   by: who proposes it (JSON: actor, authority, ...); fields: names and values
-- returns {ok} | {tenant} its tenant has the most | {all} there are the most
-- include: store/base
-- include: governance/proposal
local id, tenant = args.id, args.tenant
local key, of_tenant = proposal_key(id), P .. 'proposals_of:' .. tenant
if redis.call('EXISTS', key) == 1 then return { 'ok' } end
if redis.call('SCARD', of_tenant) >= tonumber(args.max_tenant_open) then return { 'tenant' } end
if redis.call('ZCARD', P .. 'open_proposals') >= tonumber(args.max_open) then return { 'all' } end
if redis.call('ZCARD', P .. 'proposals') >= tonumber(args.max_proposals) then
  -- the oldest that has ended: one of these, since no more than these are open
  for _, oldest in ipairs(redis.call('ZRANGE', P .. 'proposals', 0, args.max_open)) do
    if not redis.call('ZSCORE', P .. 'open_proposals', oldest) then
      redis.call('DEL', proposal_key(oldest))
      redis.call('ZREM', P .. 'proposals', oldest)
      break
    end
  end
end
-- a signature covers the end, in whole seconds
local expires_us = text(math.floor((NOW + tonumber(args.ttl_us)) / 1000000) * 1000000)
redis.call('HSET', key, 'tenant', tenant, 'created_us', text(NOW), 'expires_us', expires_us,
  'operation', args.operation, unpack(ARGV, first.fields))
redis.call('ZADD', P .. 'proposals', text(NOW), id)
redis.call('ZADD', P .. 'open_proposals', expires_us, id)
redis.call('SADD', of_tenant, id)
local by = cjson.decode(args.by)
set_proposal_status(by, id, 'open', '', '')
append_audit(by, 'propose', id, 'done', { proposed = args.operation })
return { 'ok' }
