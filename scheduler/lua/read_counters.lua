#!lua flags=no-writes,allow-oom
-- Read what /metrics needs beside the hash `counters`: the histograms' bounds, and the gauges of the API processes.
-- KEYS[1] prefix
-- args: max_age_us
--   max_age_us: how old the report of an API process may be
-- returns {{kind, {upper bound (us), ...}, ...}, {gauges of a process (JSON), ...},
--         number of ended jobs that are not counted yet}
-- include: store/base
-- include: store/histograms
local bounds, processes = {}, {}
for kind, limits in pairs(BUCKETS_US) do
  bounds[#bounds + 1] = kind
  bounds[#bounds + 1] = limits
end
local since = text(NOW - tonumber(args.max_age_us))
for _, process in ipairs(redis.call('ZRANGE', P .. 'api_processes', since, '+inf', 'BYSCORE')) do
  processes[#processes + 1] = redis.call('HGET', P .. 'api_process:' .. process, 'gauges') or nil
end
return { bounds, processes, redis.call('XLEN', P .. 'ended') }
