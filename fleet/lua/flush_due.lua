#!lua flags=allow-oom
-- Whether a replica's engine may drop what a flush concerns: when all live API processes use the raised epochs, so
-- that no new request has an old cache namespace.
-- KEYS[1] prefix
-- args: replica operation max_age_us max_wait_us
--   max_age_us: age from which on an API process counts as dead
--   max_wait_us: time after the beginning from which on no process is waited for
-- returns go | wait | over
-- include: store/base
local key = P .. 'operation:' .. args.operation
local flushes = redis.call('HGET', replica_key(args.replica), 'flushes')
local finished_us, version, created_us, status =
  read_fields(key, 'finished_us', 'epochs_version', 'created_us', 'status')
if finished_us or not version or not flushes or not string.find(flushes, args.operation, 1, true) then return 'over' end
if status == 'pending' and NOW - tonumber(created_us) < tonumber(args.max_wait_us) then
  local readers = redis.call('HGETALL', P .. 'epoch_readers')
  for at = 2, #readers, 2 do
    local used, read_us = string.match(readers[at], '(%d+) (%d+)')
    if NOW - tonumber(read_us) < tonumber(args.max_age_us) and tonumber(used) < tonumber(version) then return 'wait' end
  end
end
if status == 'pending' then
  redis.call('HSET', key, 'status', 'running', 'stage', 'the engines free what they hold')
end
return 'go'
