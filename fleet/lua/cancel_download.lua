#!lua flags=allow-oom
-- Cancel a download. What it has written stays, for a later one.
-- KEYS[1] prefix
-- args: operation authorization
--   authorization: JSON, see governance/authorize
-- returns {ok} | {over} when it has ended | {refused, reason} because of its authorization
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/registration
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, args.operation)
if problem then return problem end
local kind, finished_us = read_fields(P .. 'operation:' .. args.operation, 'kind', 'finished_us')
if kind ~= 'download' or finished_us then return { 'over' } end
use_authorization(authorization, args.operation, '')
end_file_operation(args.operation, 'cancelled', { code = 'download_cancelled', message = 'the download was cancelled' },
  authorization.audit)
return { 'ok' }
