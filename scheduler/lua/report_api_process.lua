#!lua flags=allow-oom
-- An API process reports its gauges, and what it has counted since its last report.
-- KEYS[1] prefix
-- ARGV    2 process  3 number of the report  4 its gauges (JSON)  5.. pairs: field of `counters`, amount
-- returns 1; 0 for a report that came before: a caller whose reply was lost repeats the call
-- include: base
-- include: counters
local KEPT_S = 60
local key = P .. 'api_process:' .. ARGV[2]
if (tonumber(redis.call('HGET', key, 'number')) or 0) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', key, 'number', ARGV[3], 'gauges', ARGV[4])
redis.call('EXPIRE', key, KEPT_S)
redis.call('ZADD', P .. 'api_processes', text(NOW), ARGV[2])
redis.call('ZREMRANGEBYSCORE', P .. 'api_processes', '-inf', text(NOW - KEPT_S * 1000000))
for at = 5, #ARGV, 2 do add_to_counter(ARGV[at], tonumber(ARGV[at + 1])) end
return 1
