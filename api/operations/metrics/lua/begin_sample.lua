#!lua flags=allow-oom
-- Begin a sample of the platform's metrics, unless a process has begun one in the current interval: processes take turns.
-- KEYS[1] prefix
-- args: interval_us
-- returns {time (us), what was counted at the sample before (JSON) or ''} | {} when it is no turn
-- include: store/base
local number = math.floor(NOW / tonumber(args.interval_us))
local turn, totals = read_fields(P .. 'recent_metrics', 'turn', 'totals')
-- a turn far ahead: the clock was set back
if turn and number <= tonumber(turn) and tonumber(turn) - number < 2 then return {} end
redis.call('HSET', P .. 'recent_metrics', 'turn', text(number))
return { text(NOW), totals or '' }
