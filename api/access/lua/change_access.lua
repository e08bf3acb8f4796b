#!lua flags=allow-oom
-- Change tenants and API keys and append the audit record of it, unless one of them was changed since the caller
-- read them. Runs when memory is full, too: a revocation must not wait for memory.
-- KEYS[1] prefix
-- ARGV    2 version that the caller read, '' for none  3 new version
--         4 authorization (JSON, see include/authorize)  5 action  6 subject  7 outcome  8 detail (JSON)
--         9 number of the tenants to change  10.. name and JSON of each tenant ('' removes it), then digest and
--         JSON of each key
-- returns {ok} | {changed} the caller has to read again | {refused, reason} because of 4
-- include: store/base
-- include: governance/authorize
-- include: governance/audit

-- Forget the counters of tenants of which nothing is left, so that their labels in /metrics are free for others.
local WITH_TENANT = { requests = true, input_tokens = true, output_tokens = true, cached_tokens = true }
local function forget_counters(gone)
  for _, field in ipairs(redis.call('HKEYS', P .. 'counters')) do
    local kind, first, second = string.match(field, '^(%S+) (%S+) ?(%S*)')
    local tenant = WITH_TENANT[kind] and second or kind == 'tenant_refusals' and first
    if gone[tenant] then redis.call('HDEL', P .. 'counters', field) end
  end
end

local version = redis.call('GET', P .. 'access_version') or ''
if version == ARGV[3] then return { 'ok' } end
local authorization = cjson.decode(ARGV[4])
local problem = authorization_problem(authorization, ARGV[3])
if problem then return problem end
if version ~= ARGV[2] then return { 'changed' } end
local gone = {}
local keys_from = 10 + 2 * tonumber(ARGV[9])
for at = 10, keys_from - 1, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'tenants', ARGV[at])
    if redis.call('SREM', P .. 'counted_tenants', ARGV[at]) == 1 then gone[ARGV[at]] = true end
  else
    redis.call('HSET', P .. 'tenants', ARGV[at], ARGV[at + 1])
  end
end
if next(gone) then forget_counters(gone) end
for at = keys_from, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'api_keys', ARGV[at])
  else
    redis.call('HSET', P .. 'api_keys', ARGV[at], ARGV[at + 1])
  end
end
use_authorization(authorization, ARGV[3], '')
append_audit(authorization.audit, ARGV[5], ARGV[6], ARGV[7], cjson.decode(ARGV[8]))
redis.call('SET', P .. 'access_version', ARGV[3])
return { 'ok' }
