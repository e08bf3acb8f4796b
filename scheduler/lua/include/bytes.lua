-- The bytes of jobs, in all (`@all`) and by tenant: what waits and runs, and what is stored.
--
-- A small request counts from its end, with its log; a large one counts from its admission. The field `bytes` of a
-- job is what it counts for at the moment. Redis expires no job by itself: `expire` deletes it, and takes
-- its bytes off in the same call, so the counts cannot drift. What an end changes by less than LARGE_BYTES is
-- counted by `count_ended_jobs`, half a second later: until then a count lacks it, and may be negative.
local LARGE_BYTES = 65536
local JOB_BYTES = 4096 -- what a job takes beside its texts, roughly

local function count_bytes(tenant, bytes)
  if bytes == 0 then return end
  for _, name in ipairs({ '@all', tenant }) do
    if redis.call('HINCRBY', P .. 'bytes', name, text(bytes)) == 0 then redis.call('HDEL', P .. 'bytes', name) end
  end
end

-- Delete an ended job with its log. stream: the field `resumable` of the job.
local function delete_job(id, tenant, bytes, stream)
  local hash, models, conversation = string.match(stream or '', '^(%S+) (%S+) %d+ (.*)$')
  redis.call('DEL', job_key(id), log_key(id), hash and resumable_key(tenant, hash) or log_key(id))
  if hash and models ~= '-' then redis.call('SREM', P .. 'resumable_models:' .. tenant .. ':' .. models, conversation) end
  redis.call('ZREM', P .. 'deadlines', id)
  count_bytes(tenant, -(tonumber(bytes) or 0))
end
