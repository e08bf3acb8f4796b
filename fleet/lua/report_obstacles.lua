#!lua flags=allow-oom
-- A worker reports why it cannot load some models.
-- KEYS[1] prefix
-- args: worker incarnation obstacles
--   obstacles: {model: {message, options}} (JSON)
-- returns ok | fenced
-- include: store/base
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 'fenced' end
redis.call('HSET', worker_key(args.worker), 'obstacles', args.obstacles)
return 'ok'
