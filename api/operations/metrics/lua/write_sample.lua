#!lua flags=allow-oom
-- Write a sample of the platform's metrics over the one of an hour ago.
-- KEYS[1] prefix
-- args: interval_us kept at_us sample totals models
--   kept: how many samples are kept; at_us: time of the sample; sample: JSON
--   totals: what was counted until then (JSON); models: the models at this sample (JSON)
-- include: store/base
local place = math.floor(tonumber(args.at_us) / tonumber(args.interval_us)) % tonumber(args.kept)
redis.call('HSET', P .. 'recent_metrics', text(place), args.sample, 'totals', args.totals, 'models', args.models)
redis.call('EXPIRE', P .. 'recent_metrics', 2 * tonumber(args.kept) * tonumber(args.interval_us) / 1000000)
