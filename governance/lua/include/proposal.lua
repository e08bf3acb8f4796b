-- include: store/change_feed
-- include: governance/audit
-- The status of proposals (drawn in docs/decisions/0017). Every change goes through `set_proposal_status`, which also
-- appends it to the stream `changes` and to the audit.
local ACTIONS = { approved = 'approve_proposal', started = 'start_proposal', withdrawn = 'withdraw_proposal',
  expired = 'expire_proposal', outdated = 'outdate_proposal' }

-- Whether an operation may begin by a proposal: it is approved, and its time has not ended. A proposal that this very
-- operation has started already may, too: the script runs again after a lost reply.
local function proposal_may_start(id, operation)
  local status, expires_us, by = read_fields(proposal_key(id), 'status', 'expires_us', 'started_by')
  if status == 'started' then return by == operation end
  return status == 'approved' and NOW < tonumber(expires_us)
end

-- by: who caused it, as for `append_audit`. `reason` says why it has ended, `operation` which operation it has started
-- ('' for none). A signature that is not the last one leaves it open: its caller appends the audit record.
local function set_proposal_status(by, id, status, reason, operation)
  local key = proposal_key(id)
  local was, kind, tenant, history_s, signatures, threshold =
    read_fields(key, 'status', 'operation', 'tenant', 'history_s', 'signatures', 'threshold')
  redis.call('HSET', key, 'status', status, 'reason', reason, 'operation_id', operation)
  if status == 'approved' then
    redis.call('HSET', key, 'approved_us', text(NOW))
    redis.call('ZADD', P .. 'approved_proposals', text(NOW), id)
  elseif status ~= 'open' then
    redis.call('HSET', key, 'ended_us', text(NOW))
    redis.call('ZREM', P .. 'open_proposals', id)
    redis.call('ZREM', P .. 'approved_proposals', id)
    redis.call('SREM', P .. 'proposals_of:' .. tenant, id)
    redis.call('EXPIRE', key, history_s)
  end
  if ACTIONS[status] then
    append_audit(by, ACTIONS[status], id, 'done', { proposed = kind, reason = reason, operation = operation })
  end
  append_change('proposal', id, 'kind', kind, 'was', was or '', 'status', status, 'at_us', text(NOW),
    'operation', operation, 'message', reason, 'signatures', signatures or '0', 'threshold', threshold)
end

-- Start an approved proposal: its operation begins in the same script. `begun` is
-- '' when nothing has to be begun; then `operation` only identifies the call.
local function start_proposal(by, id, operation, begun)
  if redis.call('HGET', proposal_key(id), 'status') ~= 'approved' then return end
  redis.call('HSET', proposal_key(id), 'started_by', operation)
  set_proposal_status(by, id, 'started', '', begun)
end
