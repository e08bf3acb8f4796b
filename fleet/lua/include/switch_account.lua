-- What the switches of models cost that were made for a tenant's requests: `switch_accounts` has by tenant `<ms> <time (us)>`,
-- the milliseconds of loading and unloading, divided by its weight, of which half is forgotten in five minutes.

-- Return the account of a tenant (ms) now. stored: its field, or false.
local function switch_account(stored)
  local ms, at_us = string.match(stored or '', '^(%S+) (%d+)$')
  return ms and tonumber(ms) * 0.5 ^ (math.max(0, NOW - tonumber(at_us)) / 300000000) or 0
end

-- Add to the accounts: charges is {tenant: ms} (JSON), or ''.
local function charge_switch(charges)
  local key = P .. 'switch_accounts'
  for tenant, ms in pairs(charges ~= '' and cjson.decode(charges) or {}) do
    local sum = switch_account(redis.call('HGET', key, tenant)) + ms
    redis.call('HSET', key, tenant, string.format('%.3f %.0f', sum, NOW))
    redis.call('EXPIRE', key, 3600)
  end
end
