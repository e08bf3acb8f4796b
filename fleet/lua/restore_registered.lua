-- Bring the registered models back to what an API process has in its file, if that is newer: Redis has lost them, or
-- their last changes.
-- KEYS[1] prefix
-- args: revision max_models definitions..
--   revision: of the file; max_models: most registered models; definitions: pairs: model, definition (JSON)
-- returns the revision that is in force
-- include: store/base
-- include: fleet/model
-- include: fleet/registration
local key = P .. 'registered_revision'
local current = tonumber(redis.call('GET', key)) or 0
if current >= tonumber(args.revision) then return text(current) end
local kept = {}
for at = first.definitions, math.min(#ARGV - 1, first.definitions + 2 * tonumber(args.max_models) - 2), 2 do
  local model, definition = ARGV[at], ARGV[at + 1]
  kept[model] = true
  redis.call('SADD', P .. 'registered_models', model)
  redis.call('PERSIST', model_key(model))
  redis.call('PERSIST', P .. 'served:' .. model)
  -- a loaded model keeps the definition that its engines have
  if is_at_rest(model) or redis.call('HEXISTS', P .. 'dynamic_models', model) == 0 then
    add_dynamic_model(model, definition, 'restored')
  end
end
for _, model in ipairs(redis.call('SMEMBERS', P .. 'registered_models')) do
  if not kept[model] then
    redis.call('SREM', P .. 'registered_models', model)
    if is_at_rest(model) then remove_dynamic_model(model) end
  end
end
redis.call('SET', key, args.revision)
redis.call('SET', P .. 'dynamic_models_version', text(NOW) .. ' restored')
make_recovery_due()
return args.revision
