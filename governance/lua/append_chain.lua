#!lua flags=allow-oom
-- Append records to the audit chain and remove what waited for them, if the chain still ends where the caller read
-- it. Runs when memory is full, too: as much waits as is appended.
-- KEYS[1] prefix
-- args: last_id last_digest max_records lost_count record_count records..
--   last_id: of the last record that the caller read, '' for none; last_digest: its digest, or ''
--   max_records: most records of the chain; lost_count: how many lost records these records name
--   records: of each: id, record (JSON), digest; then the ids in `audit_pending` to remove
-- returns 1; 0 when the chain ends elsewhere: the caller has to read again
-- include: store/keys
local chain, count = P .. 'audit_chain', tonumber(args.record_count)
local last = redis.call('XREVRANGE', chain, '+', '-', 'COUNT', 1)[1]
local id, digest = last and last[1] or '', last and last[2][4] or ''
local new = first.records + 3 * (count - 1)
if count > 0 and id == ARGV[new] and digest == ARGV[new + 2] then return 1 end -- a repeated call: the answer was lost
if id ~= args.last_id or digest ~= args.last_digest then return 0 end
for at = first.records, new, 3 do
  redis.call('XADD', chain, 'MAXLEN', '~', args.max_records, ARGV[at], 'record', ARGV[at + 1], 'digest', ARGV[at + 2])
end
for at = first.records + 3 * count, #ARGV do redis.call('XDEL', P .. 'audit_pending', ARGV[at]) end
if args.lost_count ~= '0' then redis.call('DECRBY', P .. 'audit_lost', args.lost_count) end
return 1
