-- Claim a job that was dispatched to this worker. A duplicate or stale wake-up message, or one for a job
-- that was cancelled in the meantime, claims nothing.
-- KEYS[1] prefix
-- ARGV    2 worker  3 incarnation  4 id  5 lease (us)  6 longest run (us)
--         7 id of this call: when it is repeated after a lost reply, it gets the same claim again
-- returns {ok, fence, replica, generation} | {fenced} | {gone}
-- include: base
local worker, id = ARGV[2], ARGV[4]
if redis.call('HGET', worker_key(worker), 'incarnation') ~= ARGV[3] then return { 'fenced' } end
local status, assigned_worker, replica, generation, model, admitted_us, call, current_fence, run_by_us =
  read_fields(job_key(id), 'status', 'worker', 'replica', 'generation', 'model', 'admitted_us', 'call',
    'fence', 'run_by_us')
if status == 'running' and assigned_worker == worker and call == ARGV[7] then
  return { 'ok', current_fence, replica, generation }
end
if status ~= 'dispatched' or assigned_worker ~= worker then return { 'gone' } end

local fence = next_fence()
-- a second attempt has the time that the first left
local run_by = run_by_us or text(NOW + tonumber(ARGV[6]))
redis.call('HSET', job_key(id), 'status', 'running', 'fence', fence, 'call', ARGV[7],
  'claimed_us', text(NOW), 'run_by_us', run_by)
redis.call('HINCRBY', job_key(id), 'attempts', 1)
redis.call('ZADD', P .. 'leases', text(NOW + tonumber(ARGV[5])), id)
redis.call('ZADD', P .. 'deadlines', run_by, id)

-- moving average of the wait (each new job counts one fifth): the `avgWaitMs` of 503 queue_full
local waited = (NOW - tonumber(admitted_us)) / 1000
local average = tonumber(redis.call('HGET', model_key(model), 'wait_ms')) or waited
redis.call('HSET', model_key(model), 'wait_ms', text(average * 0.8 + waited * 0.2))
return { 'ok', fence, replica, generation }
