#!lua flags=allow-oom
-- Write how far a batch is, and delete the jobs of lines whose outcomes are on disk.
-- KEYS[1] prefix
-- args: id fence progress ended counter_count counts_and_jobs..
--   fence: of the runner; progress: JSON; ended: 0|1
--   counts_and_jobs: a counter and what is added to it, for each; then ids of jobs
-- returns {fenced} | {gone} | {ok, time at which a cancel was asked for (us) or ''}
-- include: store/base
-- include: scheduler/bytes
-- include: store/counters
if redis.call('GET', P .. 'batch_runner') ~= args.fence then return { 'fenced' } end
local first_job = first.counts_and_jobs + 2 * tonumber(args.counter_count)
for at = first_job, #ARGV do
  local status, tenant, bytes = read_fields(job_key(ARGV[at]), 'status', 'tenant', 'bytes')
  if TERMINAL[status] then delete_job(ARGV[at], tenant, bytes) end
end
local key = P .. 'batch:' .. args.id
if redis.call('EXISTS', key) == 0 then
  redis.call('ZREM', P .. 'batches', args.id)
  return { 'gone' }
end
redis.call('HSET', key, 'progress', args.progress)
for at = first.counts_and_jobs, first_job - 1, 2 do add_to_counter(ARGV[at], ARGV[at + 1]) end
if args.ended == '1' then redis.call('ZREM', P .. 'batches', args.id) end
return { 'ok', redis.call('HGET', key, 'cancel_us') or '' }
