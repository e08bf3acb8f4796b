#!lua flags=allow-oom
-- Remove conversations of a tenant that is gone.
-- KEYS[1] prefix
-- args: tenant most
-- returns how many
-- include: store/base
-- include: api/inference/conversations/conversations
local ids = redis.call('ZRANGE', own_conversations(args.tenant), 0, tonumber(args.most) - 1)
for _, id in ipairs(ids) do drop_conversation(id) end
return #ids
