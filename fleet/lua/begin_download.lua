-- Begin to download the files of a model, which its last report registers. The model is not loaded by it.
-- KEYS[1] prefix
-- args: model operation definition replace max_models max_downloads worker work files_mib files_shape source
-- args: authorization
--   definition, replace, max_models, files_mib, files_shape, authorization: see register_model
--   max_downloads: most downloads and removals under way; worker: downloads the files; work: JSON, see fleet/file_work.py
--   source: what was asked for, for people
-- returns {ok} | {under_way, operation} with the same definition | {registered} with the same definition
--         | {too_many} because of max_downloads | those of register_model
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/registration
local model, operation, authorization = args.model, args.operation, cjson.decode(args.authorization)
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local key, open = P .. 'operation:' .. operation, redis.call('HGET', P .. 'file_operations', model)
if open == operation or redis.call('EXISTS', key) == 1 then return { 'ok' } end -- a repeated call
if open and redis.call('HGET', P .. 'operation:' .. open, 'registers') == args.definition then
  use_authorization(authorization, operation, open)
  return { 'under_way', open }
end
problem = registration_problem(model, args.definition, args.replace, args.max_models)
if problem then return problem end
if redis.call('HGET', P .. 'dynamic_models', model) == args.definition
  and redis.call('SISMEMBER', P .. 'registered_models', model) == 1 then
  use_authorization(authorization, operation, '')
  return { 'registered' }
end
if redis.call('HLEN', P .. 'file_operations') >= tonumber(args.max_downloads) then return { 'too_many' } end
use_authorization(authorization, operation)
label_new_model(model)
begin_operation(operation, 'download', model, 'pending', 'waiting for a worker', 1, authorization)
redis.call('HSET', key, 'registers', args.definition, 'replace', args.replace, 'work', args.work, 'worker', args.worker,
  'files_mib', args.files_mib, 'files_shape', args.files_shape, 'source', args.source)
redis.call('HSET', P .. 'file_operations', model, operation)
give_file_work(operation, args.worker, args.work)
append_catalogue_change(model, 'download', 'pending', operation)
return { 'ok' }
