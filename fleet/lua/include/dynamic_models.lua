-- The definitions of models that the configuration does not name: from their load to the end of their unload, or, of
-- registered ones (fleet/registration), from their registration to their removal.
local MAX_LABELS = 200 -- also in docs/metrics.md
local KEPT_S = 86400 -- how long what was measured of such a model is kept after its unload

-- Whether a load may store one more definition; the definition of a model that has one is replaced.
local function may_add_dynamic_model(model, most)
  local registered = redis.call('SCARD', P .. 'registered_models')
  return redis.call('HEXISTS', P .. 'dynamic_models', model) == 1
    or redis.call('HLEN', P .. 'dynamic_models') - registered < most
end

-- The first MAX_LABELS that were ever loaded have labels of their own in `counters`; the others share one, so that
-- loads of ever other names cannot make the counters grow without end.
local function add_dynamic_model(model, definition, change)
  redis.call('HSET', P .. 'dynamic_models', model, definition)
  if redis.call('SCARD', P .. 'labelled_models') < MAX_LABELS then redis.call('SADD', P .. 'labelled_models', model) end
  if redis.call('SISMEMBER', P .. 'labelled_models', model) == 0 then
    redis.call('HSET', model_key(model), 'label', 'other')
  end
  redis.call('SET', P .. 'dynamic_models_version', text(NOW) .. ' ' .. change)
end

-- Does nothing to a model of the configuration, and to a registered one.
local function remove_dynamic_model(model)
  if redis.call('SISMEMBER', P .. 'registered_models', model) == 1 then return end
  if redis.call('HDEL', P .. 'dynamic_models', model) == 0 then return end
  redis.call('SET', P .. 'dynamic_models_version', text(NOW) .. ' without ' .. model)
  redis.call('EXPIRE', model_key(model), KEPT_S)
  redis.call('EXPIRE', P .. 'served:' .. model, KEPT_S)
  redis.call('DEL', P .. 'model_files:' .. model)
end
