-- Cancel a job that has not ended: end it if it waits, else ask its worker to stop it.
-- include: scheduler/finish_job
local function cancel_job(id, job)
  if job.status == 'queued' then finish(id, 'cancelled', { code = 'cancelled' }, job)
  elseif job.status == 'running' then ask_to_stop(id, job) end
end
