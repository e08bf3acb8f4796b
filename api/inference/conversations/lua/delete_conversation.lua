#!lua flags=allow-oom
-- Delete a conversation.
-- KEYS[1] prefix
-- args: id tenant person
--   person: who asks, '' for a key
-- returns 1 | 0 the tenant, or the person, has none of this id
-- include: store/base
-- include: api/inference/conversations/conversations
if not has_conversation(args.id, args.tenant, args.person) then return 0 end
drop_conversation(args.id)
return 1
