-- Register a model whose files are there, or change the definition of a registered one that is not loaded.
-- KEYS[1] prefix
-- args: model call definition replace max_models files_mib files_shape authorization
--   call: by which a repeated call is known; definition: JSON, see fleet/dynamic_model.py
--   replace: '1': also if the model is registered with another definition; max_models: most registered models
--   files_mib, files_shape: size and shape (JSON, or '') of its files; authorization: JSON, see governance/authorize
-- returns {ok} | {refused, reason} because of its authorization | {exists} | {busy, operation} of its files
--         | {state, state} when it is loaded | {full} because of max_models
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/registration
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, args.call)
  or registration_problem(args.model, args.definition, args.replace, args.max_models)
if problem then return problem end
use_authorization(authorization, args.call, '')
register_model(args.model, args.definition, args.files_mib, args.files_shape, '', authorization.audit)
return { 'ok' }
