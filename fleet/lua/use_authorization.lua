#!lua flags=allow-oom
-- Use up an authorization when nothing has to be begun, since the model is in the wanted state already, and record that.
-- KEYS[1] prefix
-- args: call authorization action subject operation
--   call: by which a repeated call is known; authorization: JSON, see governance/authorize
--   action, subject: of the audit record; operation: the model's latest one, or ''
-- returns {ok} | {refused, reason}
-- include: store/base
-- include: governance/authorize
-- include: governance/audit
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, args.call)
if problem then return problem end
if not is_used_by(authorization, args.call) then
  local latest = args.operation ~= '' and args.operation or nil
  append_audit(authorization.audit, args.action, args.subject, 'done', { operation = latest })
end
use_authorization(authorization, args.call, '')
return { 'ok' }
