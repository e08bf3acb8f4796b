-- The audit records of what a script changes, appended in the same call. A script has no SHA-256, so a record waits
-- in `audit_pending` until an API process gives it its number and digest (governance/audit/).
-- Needs `base`.

-- Without an API process for so long, later records are only counted: the chain then has a record of their number.
local MAX_AUDIT_PENDING = 20000

-- by: who asked for the change: { actor, authority, ... } (the field `audit` of an authorization).
-- outcome: begun, completed, failed, cancelled, done or refused. detail: a table, or nil.
local function append_audit(by, action, subject, outcome, detail)
  if redis.call('XLEN', P .. 'audit_pending') >= MAX_AUDIT_PENDING then
    redis.call('INCR', P .. 'audit_lost')
    return
  end
  redis.call('XADD', P .. 'audit_pending', '*', 'at_us', text(NOW), 'by', cjson.encode(by), 'action', action,
    'subject', subject, 'outcome', outcome, 'detail', cjson.encode(detail or {}))
end
