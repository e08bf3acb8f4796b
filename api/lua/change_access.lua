#!lua flags=allow-oom
-- Change tenants and API keys and append the record of it to the audit log, unless one of these was changed
-- since the caller read them. Runs when memory is full, too: a revocation must not wait for memory.
-- KEYS[1] prefix
-- ARGV    2 version that the caller read, '' for none  3 new version
--         4 id of the last audit record that the caller read, '' for none  5 audit record  6 most audit records
--         7 number of the tenants to change  8.. name and JSON of each tenant ('' removes it), then digest and
--         JSON of each key
-- returns 1, or 0 when the caller has to read again
-- include: keys
local version = redis.call('GET', P .. 'access_version') or ''
if version == ARGV[3] then return 1 end
local last = redis.call('XREVRANGE', P .. 'audit', '+', '-', 'COUNT', 1)[1]
if version ~= ARGV[2] or (last and last[1] or '') ~= ARGV[4] then return 0 end
local keys_from = 8 + 2 * tonumber(ARGV[7])
for at = 8, keys_from - 1, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'tenants', ARGV[at])
  else
    redis.call('HSET', P .. 'tenants', ARGV[at], ARGV[at + 1])
  end
end
for at = keys_from, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', P .. 'api_keys', ARGV[at])
  else
    redis.call('HSET', P .. 'api_keys', ARGV[at], ARGV[at + 1])
  end
end
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', ARGV[6], '*', 'record', ARGV[5])
redis.call('SET', P .. 'access_version', ARGV[3])
return 1
