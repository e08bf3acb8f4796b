#!lua flags=allow-oom
-- Append records to the audit chain and remove what waited for them, if the chain still ends where the caller read
-- it. Runs when memory is full, too: as much waits as is appended.
-- KEYS[1] prefix
-- ARGV    2 id of the last record that the caller read, '' for none  3 its digest, or ''  4 most records of the chain
--         5 how many lost records these records name  6 number of records
--         7.. of each record: id, record (JSON), digest; then the ids in `audit_pending` to remove
-- returns 1; 0 when the chain ends elsewhere: the caller has to read again
-- include: store/keys
local chain, count = P .. 'audit_chain', tonumber(ARGV[6])
local last = redis.call('XREVRANGE', chain, '+', '-', 'COUNT', 1)[1]
local id, digest = last and last[1] or '', last and last[2][4] or ''
local new = 7 + 3 * (count - 1)
if count > 0 and id == ARGV[new] and digest == ARGV[new + 2] then return 1 end -- a repeated call: the answer was lost
if id ~= ARGV[2] or digest ~= ARGV[3] then return 0 end
for at = 7, new, 3 do
  redis.call('XADD', chain, 'MAXLEN', '~', ARGV[4], ARGV[at], 'record', ARGV[at + 1], 'digest', ARGV[at + 2])
end
for at = 7 + 3 * count, #ARGV do redis.call('XDEL', P .. 'audit_pending', ARGV[at]) end
if ARGV[5] ~= '0' then redis.call('DECRBY', P .. 'audit_lost', ARGV[5]) end
return 1
