#!lua flags=allow-oom
-- The platform starts anew, with all its processes: no worker of before is alive, and what was loaded or
-- unloaded by hand, or failed, gives way to the configuration.
-- KEYS[1] prefix
-- ARGV    2.. models
-- include: base
-- include: log
-- include: line
-- include: dispatch
-- include: terminal
-- include: lost
-- include: replica
for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
  worker_gone(worker, 'the platform was started anew', true)
end
for at = 2, #ARGV do
  redis.call('HDEL', model_key(ARGV[at]), 'wanted', 'last_error', 'code')
  if redis.call('HGET', model_key(ARGV[at]), 'state') == 'failed' then
    redis.call('HSET', model_key(ARGV[at]), 'state', 'unloaded', 'changed_us', text(NOW))
  end
end
