#!lua flags=no-writes,allow-oom
-- Read what decides how many replicas models have whose replicas follow the load.
-- KEYS[1] prefix
-- args: models..
-- returns for each model: {time (ms) for which a job holds its slot, or nil, whether an operation of the model is under
--         way 0|1, the latest failure of a step to more replicas (us) or nil, since when the queue's wait is beyond the
--         target (us) or nil, since when one replica less would be enough (us) or nil}
-- include: store/base
-- include: scheduler/usage
-- include: scheduler/service_rate
local answer = {}
for at = first.models, #ARGV do
  local model = ARGV[at]
  local operation, failed_us = read_fields(model_key(model), 'operation', 'growth_failed_us')
  local finished_us, kind = false, false
  if operation then kind, finished_us = read_fields(P .. 'operation:' .. operation, 'kind', 'finished_us') end
  local beyond_us, quiet_us = read_fields(P .. 'scaling:' .. model, 'beyond_us', 'quiet_us')
  answer[#answer + 1] = { run_time(model) or false, kind and not finished_us and 1 or 0, failed_us, beyond_us, quiet_us }
end
return answer
