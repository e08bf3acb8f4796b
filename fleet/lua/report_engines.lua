#!lua flags=allow-oom
-- A worker reports what its engines report about themselves, and which of them make no progress.
-- KEYS[1] prefix
-- args: worker incarnation engines..
--   engines: for each: replica, report (JSON), stalled 0|1
-- returns ok | fenced
-- include: store/base
if redis.call('HGET', worker_key(args.worker), 'incarnation') ~= args.incarnation then return 'fenced' end
for at = first.engines, #ARGV, 3 do
  local replica = ARGV[at]
  local state, worker = read_fields(replica_key(replica), 'state', 'worker')
  if state and worker == args.worker then
    redis.call('HSET', replica_key(replica), 'engine', ARGV[at + 1])
    if ARGV[at + 2] == '1' then redis.call('SADD', P .. 'stalled_replicas', replica)
    else redis.call('SREM', P .. 'stalled_replicas', replica) end
  end
end
return 'ok'
