#!lua flags=allow-oom
-- Set which tenants the history keeps texts of, and delete those of all others, unless tenants were changed meanwhile.
-- KEYS[1] prefix
-- args: version tenants..
--   version: of the tenants that the caller has read, '' for none
-- returns 1; 0 if they were changed: the caller has to read them again
-- include: store/base
-- include: scheduler/request_texts
if (redis.call('GET', P .. 'access_version') or '') ~= args.version then return 0 end
local allowed = {}
for at = first.tenants, #ARGV do allowed[ARGV[at]] = true end
for _, tenant in ipairs(redis.call('SMEMBERS', P .. 'text_tenants')) do
  if not allowed[tenant] then
    local fields = {}
    for _, field in ipairs(redis.call('HKEYS', P .. 'requests:' .. tenant)) do
      if string.find(field, ' ', 1, true) then fields[#fields + 1] = field end
    end
    delete_texts(tenant, fields)
    redis.call('SREM', P .. 'text_tenants', tenant)
  end
end
for tenant in pairs(allowed) do redis.call('SADD', P .. 'text_tenants', tenant) end
return 1
