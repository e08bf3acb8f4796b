#!lua flags=allow-oom
-- Renew the leases of a worker and its jobs, and return the state that the worker should have: thus a lost
-- claim message or cancel costs one heartbeat, not a request. Few commands, whatever the number of jobs.
-- KEYS[1] prefix
-- args: worker incarnation lease_us report tokens..
--   report: number of the worker's report of tokens: one that came before counts nothing
--   tokens: for each model and tenant: model, tenant or '', tokens of prompts that engines have computed, tokens of answers
-- returns {fenced} | {ok, {running id...}, {cancelled id...}, {replica, state, flushes or '', ...},
--         {operation...} of downloads and removals that it has to do}
-- include: store/base
-- include: store/counters
-- include: scheduler/tenant_label
local worker, lease_end = args.worker, text(NOW + tonumber(args.lease_us))
local incarnation, reported = read_fields(worker_key(worker), 'incarnation', 'token_report')
if incarnation ~= args.incarnation then
  add_to_counter('fenced heartbeat')
  return { 'fenced' }
end
local report = args.incarnation .. ' ' .. args.report
if first.tokens <= #ARGV and reported ~= report then
  redis.call('HSET', worker_key(worker), 'token_report', report)
  for at = first.tokens, #ARGV, 4 do
    local tenant = ARGV[at + 1]
    local labels = model_label(ARGV[at]) .. ' ' .. (tenant == '' and 'other' or tenant_label(tenant))
    add_to_counter('processed_input_tokens ' .. labels, ARGV[at + 2])
    add_to_counter('processed_output_tokens ' .. labels, ARGV[at + 3])
  end
end
redis.call('ZADD', P .. 'workers', lease_end, worker)
local running, cancelled, replicas, runs = {}, {}, {}, {}
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
  replicas[#replicas + 1] = replica
  local state, flushes = read_fields(replica_key(replica), 'state', 'flushes')
  replicas[#replicas + 1] = state
  replicas[#replicas + 1] = flushes or ''
  for _, id in ipairs(redis.call('HKEYS', slots_key(replica))) do
    running[#running + 1] = id
    runs[id] = true
  end
end
for first = 1, #running, 1000 do
  local leases = {}
  for at = first, math.min(first + 999, #running) do
    leases[#leases + 1] = lease_end
    leases[#leases + 1] = running[at]
  end
  redis.call('ZADD', P .. 'leases', 'XX', unpack(leases))
end
-- the jobs of a former incarnation, which its replicas' end has not reached yet, may be in the set, too
for _, id in ipairs(redis.call('SMEMBERS', cancelled_key(worker))) do
  if runs[id] then cancelled[#cancelled + 1] = id end
end
return { 'ok', running, cancelled, replicas, redis.call('HKEYS', P .. 'file_work:' .. worker) }
