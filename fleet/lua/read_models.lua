#!lua flags=no-writes,allow-oom
-- Read all models at one instant.
-- KEYS[1] prefix
-- args: window_us models..
--   window_us: window in which crashes count
-- returns for each model: {field, value, ...} of its row, number of waiting jobs,
--         {replica, state, worker, slots, slots taken, ready 0|1, ...}, number of crashes in the window
-- include: store/base
local answer = {}
local since = text(NOW - tonumber(args.window_us))
for at = first.models, #ARGV do
  local model, replicas = ARGV[at], {}
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local state, worker, slots = read_fields(replica_key(replica), 'state', 'worker', 'slots')
    local ready = redis.call('ZSCORE', P .. 'ready:' .. model, replica) and 1 or 0
    for _, item in ipairs({ replica, state, worker, slots or '0', redis.call('HLEN', slots_key(replica)), ready }) do
      replicas[#replicas + 1] = item
    end
  end
  answer[#answer + 1] = redis.call('HGETALL', model_key(model))
  answer[#answer + 1] = redis.call('ZCARD', P .. 'waiting:' .. model)
  answer[#answer + 1] = replicas
  answer[#answer + 1] = redis.call('ZCOUNT', P .. 'crashes:' .. model, since, '+inf')
end
return answer
