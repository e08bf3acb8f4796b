#!lua flags=allow-oom
-- Note how the load of models has been, for the next look at it.
-- KEYS[1] prefix
-- args: kept_ms loads..
--   kept_ms: how long the notes last without a further look
--   loads: for each model: model, since when the queue's wait is beyond the target (us) or '', since when one replica less
--     would be enough (us) or ''
-- returns ok
-- include: store/base
for at = first.loads, #ARGV, 3 do
  local key, beyond_us, quiet_us = P .. 'scaling:' .. ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if beyond_us == '' and quiet_us == '' then redis.call('DEL', key)
  else
    redis.call('HSET', key, 'beyond_us', beyond_us, 'quiet_us', quiet_us)
    redis.call('PEXPIRE', key, args.kept_ms)
  end
end
return 'ok'
