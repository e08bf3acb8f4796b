#!lua flags=no-writes,allow-oom
-- Read whether the models are served: few commands, whatever the number of replicas.
-- KEYS[1] prefix
-- args: models..
-- returns {workers, draining workers, {state or nil, code or nil, wanted or nil, loaded (us) or nil, waiting jobs,
--         replicas that accept jobs, stalled ones of them, ...}}
-- include: store/base
local workers, draining = redis.call('ZRANGE', P .. 'workers', 0, -1), 0
for _, worker in ipairs(workers) do draining = draining + redis.call('HEXISTS', worker_key(worker), 'draining') end
local stalled = {}
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'stalled_replicas')) do
  local model = redis.call('HGET', replica_key(replica), 'model')
  if model and redis.call('ZSCORE', P .. 'ready:' .. model, replica) then stalled[model] = (stalled[model] or 0) + 1 end
end
local models = {}
for at = first.models, #ARGV do
  local model = ARGV[at]
  for _, value in ipairs(redis.call('HMGET', model_key(model), 'state', 'code', 'wanted', 'loaded_us')) do
    models[#models + 1] = value
  end
  models[#models + 1] = redis.call('ZCARD', P .. 'waiting:' .. model)
  models[#models + 1] = redis.call('ZCARD', P .. 'ready:' .. model)
  models[#models + 1] = stalled[model] or 0
end
return { #workers, draining, models }
