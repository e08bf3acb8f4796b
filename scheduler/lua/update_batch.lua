#!lua flags=allow-oom
-- Write how far a batch is, and delete the jobs of lines whose outcomes are on disk.
-- KEYS[1] prefix
-- ARGV    2 id  3 fence of the runner  4 progress (JSON)  5 it has ended: 0|1  6 number of counters
--         7... a counter and what is added to it, for each  then: ids of jobs
-- returns {fenced} | {gone} | {ok, time at which a cancel was asked for (us) or ''}
-- include: store/base
-- include: scheduler/bytes
-- include: store/counters
if redis.call('GET', P .. 'batch_runner') ~= ARGV[3] then return { 'fenced' } end
local first_job = 7 + 2 * tonumber(ARGV[6])
for at = first_job, #ARGV do
  local status, tenant, bytes = read_fields(job_key(ARGV[at]), 'status', 'tenant', 'bytes')
  if TERMINAL[status] then delete_job(ARGV[at], tenant, bytes) end
end
local key = P .. 'batch:' .. ARGV[2]
if redis.call('EXISTS', key) == 0 then
  redis.call('ZREM', P .. 'batches', ARGV[2])
  return { 'gone' }
end
redis.call('HSET', key, 'progress', ARGV[4])
for at = 7, first_job - 1, 2 do add_to_counter(ARGV[at], ARGV[at + 1]) end
if ARGV[5] == '1' then redis.call('ZREM', P .. 'batches', ARGV[2]) end
return { 'ok', redis.call('HGET', key, 'cancel_us') or '' }
