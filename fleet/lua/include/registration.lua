-- Registered models: dynamic models that stay when they are unloaded, until they are removed. The API processes keep
-- them in a file as well (fleet/models_file.py), and compare it with `registered_revision`.
-- Needs `model`.

-- Another number than ever before, also after a lost write rolled it back: the clock's microseconds at least.
local function raise_registered_revision()
  local key = P .. 'registered_revision'
  redis.call('SET', key, text(math.max(NOW, (tonumber(redis.call('GET', key)) or 0) + 1)))
end

-- Whether nothing of a model is loaded, loading or ending.
local function is_at_rest(model)
  local state = redis.call('HGET', model_key(model), 'state') or 'unloaded'
  return (state == 'unloaded' or state == 'failed') and redis.call('SCARD', P .. 'replicas:' .. model) == 0, state
end

-- Why a model cannot be registered now, as the answer of a script; nil if it can. `own`: the operation that asks.
-- A definition that is registered already is no problem.
local function registration_problem(model, definition, replace, most, own)
  local registered = redis.call('SISMEMBER', P .. 'registered_models', model) == 1
  local current = redis.call('HGET', P .. 'dynamic_models', model)
  if registered and current == definition then return nil end
  if registered and replace ~= '1' then return { 'exists' } end
  local open = redis.call('HGET', P .. 'file_operations', model)
  if open and open ~= own then return { 'busy', open } end
  local rests, state = is_at_rest(model)
  if not rests then return { 'state', state } end
  local known = redis.call('SCARD', P .. 'registered_models')
  if not registered and not open then known = known + redis.call('HLEN', P .. 'file_operations') end
  if not registered and known >= tonumber(most) then return { 'full' } end
  return nil
end

-- An entry of the stream `changes`: registered, removed, or the status of a download or removal.
local function append_catalogue_change(model, change, status, operation, failure)
  append_change('catalogue', model, 'change', change, 'status', status, 'at_us', text(NOW), 'operation', operation,
    'code', failure and failure.code or '', 'message', failure and failure.message or '')
end

-- `files_mib`, `files_shape`: size and shape (JSON, or '') of its files.
local function register_model(model, definition, files_mib, files_shape, operation, audit)
  local key = P .. 'dynamic_models'
  if redis.call('SISMEMBER', P .. 'registered_models', model) == 1 and redis.call('HGET', key, model) == definition then
    return
  end
  redis.call('SADD', P .. 'registered_models', model)
  raise_registered_revision()
  add_dynamic_model(model, definition, 'registered')
  redis.call('PERSIST', model_key(model))
  redis.call('PERSIST', P .. 'served:' .. model)
  redis.call('HSET', model_key(model), 'artifact_mib', files_mib, 'shape', files_shape)
  -- what an operator wanted of another model of this name does not count, nor do its failures
  redis.call('HDEL', model_key(model), 'wanted', 'override', 'last_error', 'code', 'load_failures', 'load_retry_us')
  if redis.call('HGET', model_key(model), 'state') == 'failed' then set_model_state(model, 'unloaded') end
  forget_crashes(model)
  make_recovery_due()
  append_catalogue_change(model, 'registered', '', operation)
  append_audit(audit, 'add', model, 'done', { operation = operation ~= '' and operation or nil })
end

-- The model must be at rest.
local function unregister_model(model, operation)
  redis.call('SREM', P .. 'registered_models', model)
  raise_registered_revision()
  forget_crashes(model)
  redis.call('HDEL', model_key(model), 'wanted', 'override', 'last_error', 'code', 'last_load', 'last_load_us', 'on_demand',
    'load_failures', 'load_retry_us', 'leaves_for', 'return_paid', 'demand_note')
  remove_dynamic_model(model)
  if redis.call('HGET', model_key(model), 'state') == 'failed' then set_model_state(model, 'unloaded') end
  append_catalogue_change(model, 'removed', '', operation)
end

-- The operations of a model that is not known yet are counted with a label of its own, as far as there may be more.
local function label_new_model(model)
  local labelled = P .. 'labelled_models'
  if redis.call('HEXISTS', P .. 'dynamic_models', model) == 1 or redis.call('SISMEMBER', labelled, model) == 1 then return end
  if redis.call('SCARD', labelled) < MAX_LABELS then
    redis.call('SADD', labelled, model)
  else
    redis.call('HSET', model_key(model), 'label', 'other')
    redis.call('EXPIRE', model_key(model), KEPT_S)
  end
end

-- The workers that work on an operation of files have it in `file_work:<worker>`, and the operation has them in
-- `file_workers:<operation>`; work: JSON, see fleet/file_work.py.
local function give_file_work(operation, worker, work)
  redis.call('HSET', P .. 'file_work:' .. worker, operation, work)
  redis.call('EXPIRE', P .. 'file_work:' .. worker, 604800)
  redis.call('SADD', P .. 'file_workers:' .. operation, worker)
  redis.call('EXPIRE', P .. 'file_workers:' .. operation, 604800)
end

local function take_file_work(operation, worker)
  redis.call('HDEL', P .. 'file_work:' .. worker, operation)
  redis.call('SREM', P .. 'file_workers:' .. operation, worker)
end

-- The end of a download or removal: no worker has it any more.
local function end_file_operation(operation, status, failure, by)
  local key = P .. 'operation:' .. operation
  local kind, model = read_fields(key, 'kind', 'model')
  for _, worker in ipairs(redis.call('SMEMBERS', P .. 'file_workers:' .. operation)) do
    take_file_work(operation, worker)
  end
  if not model then return end
  if redis.call('HGET', P .. 'file_operations', model) == operation then
    redis.call('HDEL', P .. 'file_operations', model)
  end
  redis.call('HDEL', key, 'downloads_until_us', 'work')
  end_operation(operation, status, failure, by)
  append_catalogue_change(model, kind, status, operation, failure)
end
