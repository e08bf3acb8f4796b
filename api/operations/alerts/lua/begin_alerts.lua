#!lua flags=allow-oom
-- Begin an evaluation of the alerts' rules, unless a process has begun one lately: processes take turns.
-- KEYS[1] prefix
-- args: interval_us
-- returns {time (us), instances (JSON) or '', growth (JSON) or ''} of the evaluation before | {} when it is no turn
-- include: store/base
local turn, instances, growth = read_fields(P .. 'alerts', 'turn', 'instances', 'growth')
local ahead = turn and tonumber(turn) - NOW
-- a turn far ahead: the clock was set back
if ahead and ahead > -tonumber(args.interval_us) and ahead < tonumber(args.interval_us) then return {} end
redis.call('HSET', P .. 'alerts', 'turn', text(NOW))
return { text(NOW), instances or '', growth or '' }
