-- Append lines that an engine printed to the log of its model's engines, which keeps the latest ones.
-- KEYS[1] prefix
-- ARGV    2 id of this call  3 model  4 replica  5 worker  6 operation or ''  7 bytes that were left out before the lines
--         8.. lines
-- returns 1; 0 for a repeated call, whose reply was lost
-- include: store/base
local MAX_LINES, MAX_LOGS = 2000, 100 -- also in docs/operations.md
local KEPT_S, CALL_MS = 86400, 60000
if not redis.call('SET', P .. 'engine_log_call:' .. ARGV[2], '1', 'NX', 'PX', CALL_MS) then return 0 end
local model = ARGV[3]
local key = P .. 'engine_log:' .. model
local function append(text, left_out)
  redis.call('XADD', key, 'MAXLEN', '=', MAX_LINES, '*', 'r', ARGV[4], 'w', ARGV[5], 'o', ARGV[6], 't', text, 'b', left_out)
end
if ARGV[7] ~= '0' then append('', ARGV[7]) end
for at = 8, #ARGV do append(ARGV[at], '0') end
redis.call('EXPIRE', key, KEPT_S)
redis.call('ZADD', P .. 'engine_logs', NOW, model)
redis.call('EXPIRE', P .. 'engine_logs', KEPT_S)
for _, oldest in ipairs(redis.call('ZRANGE', P .. 'engine_logs', 0, -1 - MAX_LOGS)) do
  redis.call('DEL', P .. 'engine_log:' .. oldest)
  redis.call('ZREM', P .. 'engine_logs', oldest)
end
return 1
