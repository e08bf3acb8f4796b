#!lua flags=allow-oom
-- Append an audit record of something that no other script did, as the refusal of a request. Runs when memory is
-- full, too: an attempt must not go unrecorded, and `audit_pending` is bounded.
-- KEYS[1] prefix
-- ARGV    2 id of this call  3 by (JSON: actor, authority, ...)  4 action  5 subject  6 outcome  7 detail (JSON)
-- returns 1; 0 for a repeated call, whose reply was lost
-- include: store/base
-- include: governance/audit
local CALL_MS = 60000
if not redis.call('SET', P .. 'audit_call:' .. ARGV[2], '1', 'NX', 'PX', CALL_MS) then return 0 end
append_audit(cjson.decode(ARGV[3]), ARGV[4], ARGV[5], ARGV[6], cjson.decode(ARGV[7]))
return 1
