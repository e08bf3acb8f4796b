#!lua flags=no-writes,allow-oom
-- Read all models at one instant.
-- KEYS[1] prefix
-- ARGV    2 '1': count running jobs, too  3.. models
-- returns for each model: {field, value, ...} of its row, number of waiting jobs,
--         {replica, state, worker, slots, slots taken, running jobs, ready 0|1, ...}
-- include: base
local answer = {}
for at = 3, #ARGV do
  local model, replicas = ARGV[at], {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local state, worker, slots = read_fields(replica_key(replica), 'state', 'worker', 'slots')
    local running = 0
    if ARGV[2] == '1' then
      for _, id in ipairs(redis.call('SMEMBERS', slots_key(replica))) do
        if redis.call('HGET', job_key(id), 'status') == 'running' then running = running + 1 end
      end
    end
    for _, item in ipairs({ replica, state, worker, slots or '0', redis.call('SCARD', slots_key(replica)),
      running, redis.call('SISMEMBER', P .. 'ready:' .. model, replica) }) do
      replicas[#replicas + 1] = item
    end
  end
  answer[#answer + 1] = redis.call('HGETALL', model_key(model))
  answer[#answer + 1] = redis.call('ZCARD', P .. 'waiting:' .. model)
  answer[#answer + 1] = replicas
end
return answer
