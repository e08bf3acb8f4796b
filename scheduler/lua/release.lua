#!lua flags=allow-oom
-- End a running job, free its slot, and dispatch the next job to it in the same call.
-- KEYS[1] prefix
-- ARGV    2 id  3 fence  4 status  5 finish_reason  6 code  7 message  8 usage (JSON) or ''  9 tokens or ''
--         10 '1' when the job may be queued again if its log is empty
-- returns ok | requeued | fenced
-- include: base
-- include: log
-- include: queue
-- include: dispatch
-- include: terminal
-- include: requeue
local id = ARGV[2]
local current_status, current_fence, model, cancel =
  read_fields(job_key(id), 'status', 'fence', 'model', 'cancel')
if current_status ~= 'running' or current_fence ~= ARGV[3] then return 'fenced' end
if ARGV[10] == '1' and cancel ~= '1' then
  requeue_or_fail(id, ARGV[6], ARGV[7])
else
  local status, code = ARGV[4], ARGV[6]
  if cancel == '1' and status == 'failed' then status, code = 'cancelled', 'cancelled' end
  finish(id, status, { finish_reason = ARGV[5], code = code, message = ARGV[7], usage = ARGV[8],
    tokens = tonumber(ARGV[9]) })
end
local status = redis.call('HGET', job_key(id), 'status')
dispatch(model)
return status == 'queued' and 'requeued' or 'ok'
