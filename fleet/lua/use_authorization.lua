#!lua flags=allow-oom
-- Use up an authorization when nothing has to be begun, since the model is in the wanted state already, and record that.
-- KEYS[1] prefix
-- ARGV    2 the call, by which a repeated call is known  3 authorization (JSON, see include/authorize)
--         4 action and  5 subject of the audit record  6 the model's latest operation or ''
-- returns {ok} | {refused, reason}
-- include: store/base
-- include: governance/authorize
-- include: governance/audit
local authorization = cjson.decode(ARGV[3])
local problem = authorization_problem(authorization, ARGV[2])
if problem then return problem end
if not is_used_by(authorization, ARGV[2]) then
  append_audit(authorization.audit, ARGV[4], ARGV[5], 'done', { operation = ARGV[6] ~= '' and ARGV[6] or nil })
end
use_authorization(authorization, ARGV[2], '')
return { 'ok' }
