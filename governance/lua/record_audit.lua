#!lua flags=allow-oom
-- Append an audit record of something that no other script did, as the refusal of a request. Runs when memory is
-- full, too: an attempt must not go unrecorded, and `audit_pending` is bounded.
-- KEYS[1] prefix
-- args: call by action subject outcome detail
--   call: id of this call; by: JSON: actor, authority, ...; detail: JSON
-- returns 1; 0 for a repeated call, whose reply was lost
-- include: store/base
-- include: governance/audit
local CALL_MS = 60000
if not redis.call('SET', P .. 'audit_call:' .. args.call, '1', 'NX', 'PX', CALL_MS) then return 0 end
append_audit(cjson.decode(args.by), args.action, args.subject, args.outcome, cjson.decode(args.detail))
return 1
