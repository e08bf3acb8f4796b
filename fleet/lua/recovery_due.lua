#!lua flags=allow-oom
-- Ask whether the caller should look for models and loads to recover: at most one caller in an interval does,
-- and the first one after a model was lost.
-- KEYS[1] prefix
-- args: interval_us
-- returns 1, or 0 when another process looked less than the interval ago
-- include: store/base
local looked = tonumber(redis.call('GET', P .. 'recovery_looked_at'))
if looked and NOW >= looked and NOW - looked < tonumber(args.interval_us) then return 0 end
redis.call('SET', P .. 'recovery_looked_at', text(NOW))
return 1
