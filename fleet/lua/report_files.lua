-- A worker reports the digests of the files of its host's models.
-- KEYS[1] prefix
-- args: host digests..
--   digests: pairs: model, digest ('' when there are none any more)
-- include: store/base
for at = first.digests, #ARGV, 2 do
  local key = P .. 'model_files:' .. ARGV[at]
  if ARGV[at + 1] == '' then
    redis.call('HDEL', key, args.host)
  else
    redis.call('HSET', key, args.host, ARGV[at + 1])
  end
end
