#!lua flags=allow-oom
-- An API process reports its gauges, and what it has counted since its last report.
-- KEYS[1] prefix
-- args: process number gauges pair_count code_count error_count history_s history_requests history_bytes counts..
--   number: of the report; gauges: JSON; pair_count, code_count, error_count: how many of the first three kinds follow
--   counts: pairs: field of `counters`, amount; then for each tenant and code of answers with 429 or 503: tenant, code,
--     amount; then the same of all refused requests; then refused requests for the history: the two lines of the record
--   history_s, history_requests, history_bytes: the bounds of the history
-- returns 1; 0 for a report that came before: a caller whose reply was lost repeats the call
-- include: store/base
-- include: store/counters
-- include: scheduler/tenant_label
-- include: scheduler/request_history
local KEPT_S = 60
local MINUTE_US, PART_US = 60000000, 300000000 -- also in scheduler/rejection_log.py
local MINUTE_KEPT_S, PART_KEPT_S = 6 * 60, 13 * 300
local MAX_FIELDS = 2000

-- Whether a hash of recent refusals takes this tenant and code: one that is full takes no further ones.
local function has_room(hash, field)
  return redis.call('HLEN', hash) < MAX_FIELDS or redis.call('HEXISTS', hash, field) == 1
end

local key = P .. 'api_process:' .. args.process
if (tonumber(redis.call('HGET', key, 'number')) or 0) >= tonumber(args.number) then return 0 end
redis.call('HSET', key, 'number', args.number, 'gauges', args.gauges)
redis.call('EXPIRE', key, KEPT_S)
redis.call('ZADD', P .. 'api_processes', text(NOW), args.process)
redis.call('ZREMRANGEBYSCORE', P .. 'api_processes', '-inf', text(NOW - KEPT_S * 1000000))
local refused_from = first.counts + 2 * tonumber(args.pair_count)
for at = first.counts, refused_from - 1, 2 do add_to_counter(ARGV[at], tonumber(ARGV[at + 1])) end
local of_minute = P .. 'refusals:' .. text(math.floor(NOW / MINUTE_US))
local of_part = P .. 'refusals_by_part:' .. text(math.floor(NOW / PART_US))
local errors_from = refused_from + 3 * tonumber(args.code_count)
for at = refused_from, errors_from - 1, 3 do
  local tenant, code, amount = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local field = tenant .. ' ' .. code
  add_to_counter('tenant_refusals ' .. tenant_label(tenant) .. ' ' .. code, tonumber(amount))
  if has_room(of_minute, field) then redis.call('HINCRBY', of_minute, field, amount) end
  if has_room(of_part, field) then redis.call('HINCRBY', of_part, field, amount) end
end
if refused_from < errors_from then
  redis.call('EXPIRE', of_minute, MINUTE_KEPT_S)
  redis.call('EXPIRE', of_part, PART_KEPT_S)
end
local requests_from = errors_from + 3 * tonumber(args.error_count)
for at = errors_from, requests_from - 1, 3 do
  add_to_counter('tenant_errors ' .. tenant_label(ARGV[at]) .. ' ' .. ARGV[at + 1], tonumber(ARGV[at + 2]))
end
local records = {}
for at = requests_from, #ARGV, 2 do -- the clock of the process may be another one
  local id, refused_us, rest = string.match(ARGV[at], '^(%S+) (%d+) (.*)$')
  refused_us = math.min(NOW, math.max(NOW - KEPT_S * 1000000, tonumber(refused_us)))
  records[#records + 1] = { table.concat({ id, text(refused_us), rest }, ' '), ARGV[at + 1] }
end
keep_requests(records, { seconds = args.history_s, requests = args.history_requests, bytes = args.history_bytes })
return 1
