#!lua flags=no-writes,allow-oom
-- Read the engines of all replicas that are up.
-- KEYS[1] prefix
-- args: models..
-- returns {replica, model, device of its worker, measured memory (MiB) or '', its report (JSON) or '',
--         stalled 0|1, ...}; a stalled engine makes no progress
-- include: store/base
local answer, stalled = {}, {}
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'stalled_replicas')) do stalled[replica] = true end
for at = first.models, #ARGV do
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. ARGV[at])) do
    local state, worker, memory_mib, engine =
      read_fields(replica_key(replica), 'state', 'worker', 'memory_mib', 'engine')
    if state == 'up' then
      local device = redis.call('HGET', worker_key(worker), 'device')
      for _, item in ipairs({ replica, ARGV[at], device or '', memory_mib or '', engine or '',
        stalled[replica] and 1 or 0 }) do
        answer[#answer + 1] = item
      end
    end
  end
end
return answer
