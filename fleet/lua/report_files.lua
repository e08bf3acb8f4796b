-- A worker reports the digests of the files of its host's models.
-- KEYS[1] prefix
-- ARGV    2 host  3.. pairs: model, digest ('' when there are none any more)
-- include: store/base
for at = 3, #ARGV, 2 do
  local key = P .. 'model_files:' .. ARGV[at]
  if ARGV[at + 1] == '' then
    redis.call('HDEL', key, ARGV[2])
  else
    redis.call('HSET', key, ARGV[2], ARGV[at + 1])
  end
end
