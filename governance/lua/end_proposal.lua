#!lua flags=allow-oom
-- End a proposal that has not been started: it was withdrawn, or its plan does not hold any more.
-- KEYS[1] prefix
-- ARGV    2 proposal  3 status: withdrawn or outdated  4 reason, for people
--         5 who ends it (JSON: actor, authority, ...)
-- returns {ok} | {ended, status} it has ended otherwise | {unknown}
-- include: store/base
-- include: governance/proposal
local id = ARGV[2]
local status = redis.call('HGET', proposal_key(id), 'status')
if not status then return { 'unknown' } end
if status == ARGV[3] then return { 'ok' } end
if status ~= 'open' and status ~= 'approved' then return { 'ended', status } end
set_proposal_status(cjson.decode(ARGV[5]), id, ARGV[3], ARGV[4], '')
return { 'ok' }
