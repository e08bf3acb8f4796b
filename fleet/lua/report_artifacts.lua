-- A worker reports the size of the files of the models that it has.
-- KEYS[1] prefix
-- args: sizes..
--   sizes: pairs: model, MiB
-- include: store/base
for at = first.sizes, #ARGV, 2 do redis.call('HSET', model_key(ARGV[at]), 'artifact_mib', ARGV[at + 1]) end
