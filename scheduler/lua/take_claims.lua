#!lua flags=no-writes,allow-oom
-- Return the claims of the jobs that run on a worker and that it does not know: their claim messages were lost,
-- or are still on their way. A reply ends after the claim with which it reaches MAX_REPLY_BYTES: the worker asks
-- again for the others, since a larger reply might take longer than its time limit.
-- KEYS[1] prefix
-- args: worker incarnation known..
--   known: the ids of the jobs that the worker knows
-- returns {fenced} | {ok, claim message, ...}
-- include: store/base
-- include: scheduler/log
local MAX_REPLY_BYTES = 8 * 1024 * 1024
local bytes_left = MAX_REPLY_BYTES
local worker, known, answer = args.worker, {}, { 'ok' }
if redis.call('HGET', worker_key(worker), 'incarnation') ~= args.incarnation then return { 'fenced' } end
for at = first.known, #ARGV do known[ARGV[at]] = true end
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'worker_replicas:' .. worker)) do
  for _, id in ipairs(redis.call('HKEYS', slots_key(replica))) do
    if not known[id] then
      local fence, attempts, generation = read_fields(job_key(id), 'fence', 'attempts', 'generation')
      local message = claim_message(id, fence, replica, log_length(id), attempts, generation)
      answer[#answer + 1] = message
      bytes_left = bytes_left - #message
      if bytes_left <= 0 then return answer end
    end
  end
end
return answer
