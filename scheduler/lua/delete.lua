#!lua flags=allow-oom
-- Delete a stored response, and the texts that the history has of a request. A job that has not ended is cancelled, and expires
-- 60 s after its end.
-- KEYS[1] prefix
-- args: id tenant
-- returns 1, or 0 when the tenant has no such stored response and no such texts
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/cancel_job
-- include: scheduler/request_texts
local id = args.id
local job = read_job(id)
local is_own = job.status and job.tenant == args.tenant
local had_texts = false
if not job.status then had_texts = delete_texts(args.tenant, { text_field(id) }) -- the history may have them longer
elseif is_own and job.keeps_text then
  delete_texts(args.tenant, { text_field(id) })
  redis.call('HDEL', job_key(id), 'keeps_text', 'prompt_text') -- those that are not in the history yet do not come there
  job.keeps_text, had_texts = false, true
end
if not is_own or job.store ~= '1' then return had_texts and 1 or 0 end
if TERMINAL[job.status] then
  delete_job(id, job.tenant, job.bytes, job.resumable)
  return 1
end
redis.call('HSET', job_key(id), 'store', '0', 'retention_s', '60')
job.store, job.retention_s = '0', '60'
cancel_job(id, job)
return 1
