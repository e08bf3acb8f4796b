#!lua flags=allow-oom
-- Write a sample of the platform's metrics over the one of an hour ago.
-- KEYS[1] prefix
-- ARGV    2 interval (us)  3 how many samples are kept  4 time of the sample (us)  5 the sample (JSON)
--         6 what was counted until then (JSON)  7 the models at this sample (JSON)
-- include: store/base
local place = math.floor(tonumber(ARGV[4]) / tonumber(ARGV[2])) % tonumber(ARGV[3])
redis.call('HSET', P .. 'recent_metrics', text(place), ARGV[5], 'totals', ARGV[6], 'models', ARGV[7])
redis.call('EXPIRE', P .. 'recent_metrics', 2 * tonumber(ARGV[3]) * tonumber(ARGV[2]) / 1000000)
