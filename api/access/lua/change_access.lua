#!lua flags=allow-oom
-- Change tenants and API keys and append the audit record of it, unless one of them was changed since the caller
-- read them. Runs when memory is full, too: a revocation must not wait for memory.
-- KEYS[1] prefix
-- args: version new_version authorization action subject outcome detail new_tenant tenant_count changes..
--   version: that the caller read, '' for none; authorization: JSON, see governance/authorize; detail: JSON
--   new_tenant: name of the tenant that is made, or ''
--   tenant_count: number of the tenants to change
--   changes: name and JSON of each tenant ('' removes it), then digest and JSON of each key
-- returns {ok} | {changed} the caller has to read again | {refused, reason} because of its authorization
-- include: store/base
-- include: governance/authorize
-- include: governance/audit
-- include: scheduler/budget

-- Forget the counters of tenants of which nothing is left, so that their labels in /metrics are free for others. What
-- they counted of a model stays in `forgotten_<kind> <model> ...`, for sums over all tenants: these must not fall.
local WITH_TENANT = { requests = true, input_tokens = true, output_tokens = true, cached_tokens = true,
  processed_input_tokens = true, processed_output_tokens = true, audio_ms = true, images = true, pixel_steps = true }
local function forget_counters(gone)
  for _, field in ipairs(redis.call('HKEYS', P .. 'counters')) do
    local kind, first, second, rest = string.match(field, '^(%S+) (%S+) ?(%S*)(.*)$')
    local tenant = WITH_TENANT[kind] and second or string.sub(kind, 1, 7) == 'tenant_' and first
    if gone[tenant] then
      if WITH_TENANT[kind] then
        local amount = redis.call('HGET', P .. 'counters', field)
        redis.call('HINCRBY', P .. 'counters', 'forgotten_' .. kind .. ' ' .. first .. rest, amount)
      end
      redis.call('HDEL', P .. 'counters', field)
    end
  end
end

-- Forget what an earlier tenant of this name used, which the new one would read as its own, and what its limits counted.
local function forget_use(tenant)
  local KEY_USAGE_DAYS = 100 -- also in scheduler/usage.py
  local today = math.floor(NOW / 86400000000)
  local names = { P .. 'rate:' .. tenant, P .. 'rate_tat:' .. tenant, tokens_key(tenant) }
  for day = today - KEY_USAGE_DAYS - 1, today + 1 do -- each is kept from the last new field of its day on
    names[#names + 1] = P .. 'key_usage:' .. text(day) .. ':' .. tenant
  end
  redis.call('UNLINK', unpack(names))
  redis.call('HDEL', P .. 'month_usage:' .. current_month(), tenant)
end

local version = redis.call('GET', P .. 'access_version') or ''
if version == args.new_version then return { 'ok' } end
local authorization = cjson.decode(args.authorization)
local problem = authorization_problem(authorization, args.new_version)
if problem then return problem end
if version ~= args.version then return { 'changed' } end
local gone = {}
local keys_from = first.changes + 2 * tonumber(args.tenant_count)
for at = first.changes, keys_from - 1, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'tenants', ARGV[at])
    if redis.call('SREM', P .. 'counted_tenants', ARGV[at]) == 1 then gone[ARGV[at]] = true end
  else
    redis.call('HSET', P .. 'tenants', ARGV[at], ARGV[at + 1])
  end
end
if next(gone) then forget_counters(gone) end
if args.new_tenant ~= '' then forget_use(args.new_tenant) end
for at = keys_from, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'api_keys', ARGV[at])
  else
    redis.call('HSET', P .. 'api_keys', ARGV[at], ARGV[at + 1])
  end
end
use_authorization(authorization, args.new_version, '')
append_audit(authorization.audit, args.action, args.subject, args.outcome, cjson.decode(args.detail))
redis.call('SET', P .. 'access_version', args.new_version)
return { 'ok' }
