#!lua flags=allow-oom
-- Add a signature, which was verified, to an open proposal. The one that makes the signatures enough approves it.
-- KEYS[1] prefix
-- args: id signer signature by
--   signature: JSON; by: who sends it (JSON: actor, authority, ...)
-- returns {ok} | {signed} this signer has signed already | {ended, status} it is not open | {unknown}
-- include: store/base
-- include: governance/proposal
local id, field = args.id, 'sig ' .. args.signer
local key = proposal_key(id)
local status, expires_us, threshold, count, before =
  read_fields(key, 'status', 'expires_us', 'threshold', 'signatures', field)
if not status then return { 'unknown' } end
if before == args.signature then return { 'ok' } end
if status ~= 'open' then return { 'ended', status } end
if NOW >= tonumber(expires_us) then return { 'ended', 'expired' } end
if before then return { 'signed' } end
count = (tonumber(count) or 0) + 1
redis.call('HSET', key, field, args.signature, 'signatures', count)
local by = cjson.decode(args.by)
append_audit(by, 'sign_proposal', id, 'done', { signer = args.signer, kid = cjson.decode(args.signature).key })
set_proposal_status(by, id, count >= tonumber(threshold) and 'approved' or 'open', '', '')
return { 'ok' }
