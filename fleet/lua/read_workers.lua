#!lua flags=no-writes,allow-oom
-- Read all workers, and how much of their memory is promised to loads under way.
-- KEYS[1] prefix
-- args: except_model
--   except_model: the model whose own reservation is not counted, or ''
-- returns {worker, device, since (us), draining 0|1, replicas, memory (JSON) or '', promised memory (MiB),
--         obstacles (JSON) or '', ...}
-- include: store/base
-- include: fleet/placement
local answer, promised = {}, promised_mib(args.except_model)
for _, worker in ipairs(redis.call('ZRANGE', P .. 'workers', 0, -1)) do
  local device, since_us, draining, memory, memory_id, obstacles =
    read_fields(worker_key(worker), 'device', 'since_us', 'draining', 'memory', 'memory_id', 'obstacles')
  for _, item in ipairs({ worker, device or '', since_us or '0', draining and 1 or 0,
    redis.call('SCARD', P .. 'worker_replicas:' .. worker), memory or '', promised[memory_id] or 0,
    obstacles or '' }) do
    answer[#answer + 1] = item
  end
end
return answer
