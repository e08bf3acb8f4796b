-- include: governance/proposal
-- The authorization of a change: checked before anything is changed, used up in the same call.
-- The argument of the scripts is JSON, as governance/authorization.py writes it:
-- { nonces: [digest], nonce_ttl_ms, proposal: id, audit: { actor, authority, ... }, definition: digest }, without what
-- it does not have.

-- Return nil, or {refused, reason} when a nonce was used, or the proposal is not approved or was started. What this
-- very operation has used up counts as unused: the call is repeated after a lost reply.
local function authorization_problem(authorization, operation)
  for _, digest in ipairs(authorization.nonces or {}) do
    local used_by = redis.call('GET', P .. 'op_nonce:' .. digest)
    if used_by and used_by ~= operation then return { 'refused', 'nonce_used' } end
  end
  if not authorization.proposal then return nil end
  if proposal_may_start(authorization.proposal, operation) then return nil end
  local status = redis.call('HGET', proposal_key(authorization.proposal), 'status')
  return { 'refused', 'proposal_' .. (status or 'unknown') }
end

-- Whether this very operation has used it up already: the call is repeated.
local function is_used_by(authorization, operation)
  local digest = (authorization.nonces or {})[1]
  if digest then return redis.call('GET', P .. 'op_nonce:' .. digest) == operation end
  local proposal = authorization.proposal
  return proposal and redis.call('HGET', proposal_key(proposal), 'started_by') == operation
end

-- `begun`: '' when nothing has to be begun; then `operation` only identifies the call.
local function use_authorization(authorization, operation, begun)
  for _, digest in ipairs(authorization.nonces or {}) do
    redis.call('SET', P .. 'op_nonce:' .. digest, operation, 'PX', authorization.nonce_ttl_ms)
  end
  if authorization.proposal then
    start_proposal(authorization.audit, authorization.proposal, operation, begun or operation)
  end
end
