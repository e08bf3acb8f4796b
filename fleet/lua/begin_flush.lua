#!lua flags=allow-oom
-- Begin to flush prefix caches: raise the epoch of a scope, so that no process that knows it names an old cache
-- namespace, and ask the engines of the concerned models to drop what they hold. Without engines the operation ends
-- at once. Runs when memory is full, too: what has to be unreachable must not wait for memory.
-- KEYS[1] prefix
-- args: operation epoch scope model subject max_open max_epochs authorization models..
--   epoch: field of the epoch; scope: JSON; model: of the scope, or ''; subject: the scope in words
--   max_open: most open flushes; max_epochs: with more, all of them are replaced by a raised epoch of everything
--   authorization: JSON, see governance/authorize; models: the models concerned
-- returns {ok, replica, worker, ...}, also for a repeated call | {full} | {refused, reason} because of its authorization
-- include: store/base
-- include: governance/authorize
-- include: fleet/model
-- include: fleet/flush
local operation, authorization, answer = args.operation, cjson.decode(args.authorization), { 'ok' }
local problem = authorization_problem(authorization, operation)
if problem then return problem end
local epochs = P .. 'cache_epochs'
local repeated = redis.call('EXISTS', P .. 'operation:' .. operation) == 1
if not repeated and redis.call('SCARD', P .. 'open_flushes') >= tonumber(args.max_open) then return { 'full' } end
for at = first.models, #ARGV do
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. ARGV[at])) do
    local state, worker, flushes = read_fields(replica_key(replica), 'state', 'worker', 'flushes')
    local listed = flushes and string.find(flushes, operation, 1, true)
    if repeated and listed or not repeated and state ~= 'stopping' then -- one that stops ends soon
      answer[#answer + 1] = replica
      answer[#answer + 1] = worker
      if not listed then
        redis.call('HSET', replica_key(replica), 'flushes', (flushes and flushes .. ' ' or '') .. operation)
      end
    end
  end
end
if repeated then return answer end
-- a value that was never used before, also after a lost write rolled the hash back: the clock's microseconds at least
local function raise(field)
  local value = math.max(NOW, (tonumber(redis.call('HGET', epochs, field)) or 0) + 1)
  redis.call('HSET', epochs, field, text(value))
  return value
end
local version = raise('@version')
if redis.call('HLEN', epochs) > tonumber(args.max_epochs) then
  -- the epoch of everything is new, so that every namespace is, whatever the other epochs are
  redis.call('DEL', epochs)
  redis.call('HSET', epochs, '@version', text(version), 'all', text(version))
else
  raise(args.epoch)
end
local count = (#answer - 1) / 2
use_authorization(authorization, operation)
begin_operation(operation, 'flush', args.model, 'pending', 'waiting for the API processes', count, authorization,
  args.subject)
redis.call('HSET', P .. 'operation:' .. operation, 'scope', args.scope, 'epochs_version', text(version),
  'entries', '0', 'memory_kib', '0')
wake_epoch_readers()
if count == 0 then
  end_operation(operation, 'completed')
else
  redis.call('SADD', P .. 'open_flushes', operation)
end
return answer
