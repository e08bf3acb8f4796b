#!lua flags=allow-oom
-- Called when the whole platform starts: no earlier worker is alive. All loads, unloads by request and failures
-- are forgotten, and with them the models that only a load defined, so that only the configuration and the definitions
-- of registered models determine what is loaded.
-- KEYS[1] prefix
-- args: models..
--   models: the configured ones
-- returns ok | more when it has to be called again: workers are left
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/finish_job
-- include: scheduler/requeue
-- include: scheduler/deferred_work
-- include: fleet/model
-- include: fleet/replica
for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
  if jobs_left <= 0 then return 'more' end
  remove_worker(worker, 'the platform was restarted', true)
end
redis.call('DEL', P .. 'lost_workers')
local dynamic = redis.call('HKEYS', P .. 'dynamic_models')
local models = {}
for at = first.models, #ARGV do models[#models + 1] = ARGV[at] end
for _, model in ipairs(dynamic) do models[#models + 1] = model end
for _, model in ipairs(models) do
  if redis.call('ZSCORE', P .. 'evicting', model) then
    fail_model(model, 'load_interrupted', 'the platform was restarted')
  end
  forget_crashes(model)
  redis.call('DEL', P .. 'cooldown:' .. model)
  redis.call('HDEL', model_key(model), 'wanted', 'override', 'last_error', 'code', 'lost', 'loaded_us',
    'growth_failed_us', 'load_failures', 'load_retry_us')
  if redis.call('HGET', model_key(model), 'state') == 'failed' then set_model_state(model, 'unloaded') end
end
for _, model in ipairs(dynamic) do remove_dynamic_model(model) end
append_audit({ actor = 'platform', authority = 'platform' }, 'restart', 'platform', 'done')
return 'ok'
