#!lua flags=no-writes,allow-oom
-- Read all workers, and how much of their memory is promised to loads under way.
-- KEYS[1] prefix
-- ARGV    2 the model whose own reservation is not counted, or ''
-- returns {worker, device, since (us), draining 0|1, replicas, memory (JSON) or '', promised memory (MiB), ...}
-- include: base
-- include: assign
local answer = {}
for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
  local row = redis.call('HMGET', worker_key(worker), 'device', 'since_us', 'draining', 'memory', 'memory_id')
  local promised = row[5] and row[5] ~= '' and promised_mib(row[5], ARGV[2]) or 0
  for _, item in ipairs({ worker, row[1] or '', row[2] or '0', row[3] and 1 or 0,
    redis.call('SCARD', P .. 'worker_replicas:' .. worker), row[4] or '', promised }) do
    answer[#answer + 1] = item
  end
end
return answer
