-- Append lines that an engine printed to the log of its model's engines, which keeps the latest ones.
-- KEYS[1] prefix
-- args: call model replica worker operation omitted_bytes lines..
--   call: id of this call; operation: or ''; omitted_bytes: bytes that were left out before the lines
-- returns 1; 0 for a repeated call, whose reply was lost
-- include: store/base
local MAX_LINES, MAX_LOGS = 2000, 100 -- also in docs/operations.md
local KEPT_S, CALL_MS = 86400, 60000
if not redis.call('SET', P .. 'engine_log_call:' .. args.call, '1', 'NX', 'PX', CALL_MS) then return 0 end
local model = args.model
local key = P .. 'engine_log:' .. model
local function append(text, left_out)
  redis.call('XADD', key, 'MAXLEN', '=', MAX_LINES, '*', 'r', args.replica, 'w', args.worker,
    'o', args.operation, 't', text, 'b', left_out)
end
if args.omitted_bytes ~= '0' then append('', args.omitted_bytes) end
for at = first.lines, #ARGV do append(ARGV[at], '0') end
redis.call('EXPIRE', key, KEPT_S)
redis.call('ZADD', P .. 'engine_logs', NOW, model)
redis.call('EXPIRE', P .. 'engine_logs', KEPT_S)
for _, oldest in ipairs(redis.call('ZRANGE', P .. 'engine_logs', 0, -1 - MAX_LOGS)) do
  redis.call('DEL', P .. 'engine_log:' .. oldest)
  redis.call('ZREM', P .. 'engine_logs', oldest)
end
return 1
