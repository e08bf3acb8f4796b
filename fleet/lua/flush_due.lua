#!lua flags=allow-oom
-- Whether a replica's engine may drop what a flush concerns: when all live API processes use the raised epochs, so
-- that no new request has an old cache namespace.
-- KEYS[1] prefix
-- ARGV    2 replica  3 operation  4 age (us) from which on an API process counts as dead
--         5 time (us) after the beginning from which on no process is waited for
-- returns go | wait | over
-- include: store/base
local key = P .. 'operation:' .. ARGV[3]
local flushes = redis.call('HGET', replica_key(ARGV[2]), 'flushes')
local finished_us, version, created_us, status =
  read_fields(key, 'finished_us', 'epochs_version', 'created_us', 'status')
if finished_us or not version or not flushes or not string.find(flushes, ARGV[3], 1, true) then return 'over' end
if status == 'pending' and NOW - tonumber(created_us) < tonumber(ARGV[5]) then
  local readers = redis.call('HGETALL', P .. 'epoch_readers')
  for at = 2, #readers, 2 do
    local used, read_us = string.match(readers[at], '(%d+) (%d+)')
    if NOW - tonumber(read_us) < tonumber(ARGV[4]) and tonumber(used) < tonumber(version) then return 'wait' end
  end
end
if status == 'pending' then
  redis.call('HSET', key, 'status', 'running', 'stage', 'the engines free what they hold')
end
return 'go'
