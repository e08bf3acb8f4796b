#!lua flags=allow-oom
-- Record why a model that should be loaded could not be. Operators see it; nothing else changes.
-- KEYS[1] prefix
-- ARGV    2 model  3 message
-- include: store/base
local state = redis.call('HGET', model_key(ARGV[2]), 'state') or 'unloaded'
if state == 'unloaded' then redis.call('HSET', model_key(ARGV[2]), 'last_error', ARGV[3]) end
