-- A worker reports the size and the shape of the files of the models that it has.
-- KEYS[1] prefix
-- args: sizes..
--   sizes: triples: model, MiB, shape with the device (JSON) or ''
-- include: store/base
for at = first.sizes, #ARGV, 3 do
  redis.call('HSET', model_key(ARGV[at]), 'artifact_mib', ARGV[at + 1], 'shape', ARGV[at + 2])
end
