#!lua flags=allow-oom
-- Begin a sample of the platform's metrics, unless a process has begun one in the current interval: processes take turns.
-- KEYS[1] prefix
-- args: is_past interval_us
--   is_past: 1 for the samples of a week, 0 for those of an hour
-- returns {time (us), what was counted at the sample before (JSON) or ''} | {} when it is no turn
-- include: store/base
local key = args.is_past == '1' and P .. 'past_metrics' or P .. 'recent_metrics'
local number = math.floor(NOW / tonumber(args.interval_us))
local turn, totals = read_fields(key, 'turn', 'totals')
-- a turn far ahead: the clock was set back
if turn and number <= tonumber(turn) and tonumber(turn) - number < 2 then return {} end
-- a sample of a week has its turn from `write_sample` on: who takes it has that of the 10 seconds
if args.is_past ~= '1' then redis.call('HSET', key, 'turn', text(number)) end
return { text(NOW), totals or '' }
