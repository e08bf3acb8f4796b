#!lua flags=allow-oom
-- Record why a model that should be loaded could not be. Operators see it; nothing else changes.
-- KEYS[1] prefix
-- args: model message
-- include: store/base
local state = redis.call('HGET', model_key(args.model), 'state') or 'unloaded'
if state == 'unloaded' then redis.call('HSET', model_key(args.model), 'last_error', args.message) end
