#!lua flags=allow-oom
-- End a proposal that has not been started: it was withdrawn, or its plan does not hold any more.
-- KEYS[1] prefix
-- args: id status reason by
--   status: withdrawn or outdated; reason: for people; by: who ends it (JSON: actor, authority, ...)
-- returns {ok} | {ended, status} it has ended otherwise | {unknown}
-- include: store/base
-- include: governance/proposal
local id = args.id
local status = redis.call('HGET', proposal_key(id), 'status')
if not status then return { 'unknown' } end
if status == args.status then return { 'ok' } end
if status ~= 'open' and status ~= 'approved' then return { 'ended', status } end
set_proposal_status(cjson.decode(args.by), id, args.status, args.reason, '')
return { 'ok' }
