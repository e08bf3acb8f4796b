-- include: store/counters
-- Flushes of prefix caches: operations of which each replica reports what its engine counted. A replica lists the
-- flushes that it has not reported in its field `flushes`, separated by spaces.

-- The API processes that read the epochs, each with the version that it uses and the time of its last read.
local function wake_epoch_readers()
  for _, process in ipairs(redis.call('HKEYS', P .. 'epoch_readers')) do
    redis.call('PUBLISH', P .. 'subscriber:' .. process, 'epochs')
  end
end

-- Add what an engine counted to the sums of a flush; '' is not counted, which makes the sum unknown. The last report
-- ends the operation.
local function add_flushed(operation, entries, memory_kib, reason)
  local key = P .. 'operation:' .. operation
  local finished_us, replicas, entries_sum, memory_sum =
    read_fields(key, 'finished_us', 'replicas', 'entries', 'memory_kib')
  if finished_us or not replicas then return end
  local function sum(before, more) return (before == '' or more == '') and '' or text(before + more) end
  redis.call('HSET', key, 'entries', sum(entries_sum, entries), 'memory_kib', sum(memory_sum, memory_kib))
  if reason ~= '' then redis.call('HSETNX', key, 'reason', reason) end
  local reported = redis.call('HINCRBY', key, 'reported', 1)
  redis.call('HSET', key, 'progress', string.format('%.3f', reported / tonumber(replicas)))
  if reported < tonumber(replicas) then return end
  end_operation(operation, 'completed')
  redis.call('SREM', P .. 'open_flushes', operation)
end

-- The engine of a replica is gone, and its cache with it, or it was never started: no flush has to wait for it.
local function end_flushes_of(replica, state, flushes)
  local reason = 'the engine of ' .. replica .. ' ended before it had counted; its cache is gone'
  for operation in string.gmatch(flushes, '%S+') do
    if state == 'assigned' then add_flushed(operation, '0', '0', '') else add_flushed(operation, '', '', reason) end
  end
end
