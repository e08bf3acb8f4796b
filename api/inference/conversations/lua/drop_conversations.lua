#!lua flags=allow-oom
-- Remove conversations of a tenant that is gone.
-- KEYS[1] prefix
-- ARGV    2 tenant  3 most
-- returns how many
-- include: store/base
-- include: api/inference/conversations/conversations
local ids = redis.call('SRANDMEMBER', P .. 'tenant_conversations:' .. ARGV[2], ARGV[3])
for _, id in ipairs(ids) do drop_conversation(id) end
return #ids
