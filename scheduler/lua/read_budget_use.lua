#!lua flags=no-writes,allow-oom
-- Read what tenants used in the current month. Changes nothing.
-- KEYS[1] prefix
-- args: tenants..
-- returns {end of the month (us), then for each tenant `<tokens> <time in slots (us)>`, or ''}
-- include: store/base
-- include: scheduler/budget
local month, ends_us = current_month()
local names, answer = {}, { ends_us }
for at = first.tenants, #ARGV do names[#names + 1] = ARGV[at] end
for at, line in ipairs(redis.call('HMGET', P .. 'month_usage:' .. month, unpack(names))) do answer[at + 1] = line or '' end
return answer
