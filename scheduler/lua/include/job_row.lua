-- What an operator may see of a job: none of its texts.

-- Return {id, tenant, model, priority, status, attempts, admission, dispatch and end (us), worker, replica, '1' when it
-- is asked to stop, its deadline (us), length of its log}. The length is read of a running job only; what is missing is
-- false. One token or more are one event of a log.
local function job_row(id)
  local row = { id, read_fields(job_key(id), 'tenant', 'model', 'priority', 'status', 'attempts', 'admitted_us',
    'claimed_us', 'ended_us', 'worker', 'replica', 'cancel') }
  row[13] = redis.call('ZSCORE', P .. 'deadlines', id)
  row[14] = row[5] == 'running' and redis.call('XLEN', log_key(id))
  return row
end
