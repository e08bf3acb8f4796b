#!lua flags=allow-oom
-- Called when the whole platform starts: no earlier worker is alive. All loads, unloads by request and failures
-- are forgotten, so that only the configuration determines what is loaded.
-- KEYS[1] prefix
-- ARGV    2.. models
-- returns ok | more when it has to be called again: workers are left
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: bytes
-- include: terminal
-- include: requeue
-- include: unfinished
-- include: model
-- include: replica
for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
  if jobs_left <= 0 then return 'more' end
  remove_worker(worker, 'the platform was restarted', true)
end
for at = 2, #ARGV do
  local model = ARGV[at]
  if redis.call('ZSCORE', P .. 'evicting', model) then
    fail_model(model, 'load_interrupted', 'the platform was restarted')
  end
  forget_crashes(model)
  redis.call('HDEL', model_key(model), 'wanted', 'override', 'last_error', 'code', 'lost', 'loaded_us')
  if redis.call('HGET', model_key(model), 'state') == 'failed' then set_model_state(model, 'unloaded') end
end
return 'ok'
