#!lua flags=allow-oom
-- Write a sample of the platform's metrics, and its parts, over the oldest one that is kept.
-- KEYS[1] prefix
-- args: is_past interval_us kept at_us sample parts totals models
--   is_past: 1 for the samples of a week, 0 for those of an hour; kept: how many samples are kept
--   at_us: time of the sample; sample, parts: JSON
--   totals: what was counted until then (JSON); models: the models at this sample (JSON)
-- include: store/base
local key = args.is_past == '1' and P .. 'past_metrics' or P .. 'recent_metrics'
local parts_key = args.is_past == '1' and P .. 'past_parts' or P .. 'recent_parts'
local number = math.floor(tonumber(args.at_us) / tonumber(args.interval_us))
local place = text(number % tonumber(args.kept))
redis.call('HSET', key, 'turn', text(number), place, args.sample, 'totals', args.totals, 'models', args.models)
redis.call('HSET', parts_key, place, args.parts)
local kept_s = 2 * tonumber(args.kept) * tonumber(args.interval_us) / 1000000
redis.call('EXPIRE', key, kept_s)
redis.call('EXPIRE', parts_key, kept_s)
