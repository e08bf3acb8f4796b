#!lua flags=allow-oom
-- A worker has downloaded the files of a model: register it; or the download has failed, and nothing is registered.
-- KEYS[1] prefix
-- args: operation worker code message max_models
--   code, message: of the failure, or ''; max_models: most registered models
-- returns 1, or 0 when it is over for this worker, as download_progress
-- include: store/base
-- include: fleet/model
-- include: fleet/registration
local key, operation = P .. 'operation:' .. args.operation, args.operation
if redis.call('SISMEMBER', P .. 'file_workers:' .. operation, args.worker) == 0 then return 0 end
local model, definition, replace, files_mib, files_shape, finished_us, authority =
  read_fields(key, 'model', 'registers', 'replace', 'files_mib', 'files_shape', 'finished_us', 'authority')
if finished_us or not model then
  take_file_work(operation, args.worker)
  return 0
end
local failure = args.code ~= '' and { code = args.code, message = args.message } or nil
local problem = not failure and registration_problem(model, definition, replace, args.max_models, operation)
if problem then
  local reason = problem[1] == 'state' and 'a model of this name is ' .. problem[2] .. ': unload it'
    or problem[1] == 'full' and 'there are too many registered models: remove one'
    or 'a model of this name was added meanwhile: remove it'
  failure = { code = 'not_registered', message = reason .. ', and add this one again; its files are there' }
end
if not failure then register_model(model, definition, files_mib, files_shape, operation, cjson.decode(authority)) end
end_file_operation(operation, failure and 'failed' or 'completed', failure)
return 1
