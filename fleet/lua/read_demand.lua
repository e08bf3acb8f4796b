#!lua flags=no-writes,allow-oom
-- Read at one instant what is needed to decide which models to load and to unload for the requests that wait.
-- KEYS[1] prefix
-- args: models..
--   models: those of the catalogue
-- returns {time (us), {model, {value or false, ...} of FIELDS, requests wait for its load 0|1, waiting jobs, admission of the
--         oldest (us) or '', running jobs, end of the last one (us) or '', average run (ms) or '', tenants}, ...} of the
--         models that requests wait for, and of those that are not unloaded
--   tenants: {tenant, its waiting jobs, its highest priority or '', its weight, its account (ms), ...}: those whose jobs wait
--     or run, else that of the last job; of many some
-- include: store/base
-- include: fleet/switch_account
local FIELDS = { 'state', 'loaded_us', 'changed_us', 'load_ms', 'unload_ms', 'on_demand', 'leaves_for', 'return_paid',
  'restart_us', 'load_retry_us', 'code' }
local MAX_TENANTS, MAX_SAMPLED = 16, 8

-- Return the tenants of a model: {[name] = {jobs, priority}}.
local function tenants_of(model, waiting, running, last)
  local found = {}
  if waiting > 0 then
    for _, priority in ipairs(PRIORITIES) do
      for _, tenant in ipairs(redis.call('ZRANGE', fair_share_key(model, priority), 0, MAX_TENANTS - 1)) do
        local known = found[tenant] or { 0, priority }
        found[tenant] = { known[1] + redis.call('ZCARD', queue_key(model, priority, tenant)), known[2] }
      end
    end
  end
  if running > 0 then
    for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
      for _, id in ipairs(redis.call('HRANDFIELD', slots_key(replica), MAX_SAMPLED)) do
        local tenant, priority = read_fields(job_key(id), 'tenant', 'priority')
        if tenant and not found[tenant] then found[tenant] = { 0, priority } end
      end
    end
  end
  if not next(found) and last and last ~= '' then found[last] = { 0, '' } end
  return found
end

local answer = { text(NOW) }
for at = first.models, #ARGV do
  local model = ARGV[at]
  local fields = { read_fields(model_key(model), unpack(FIELDS)) }
  local wanted = redis.call('ZSCORE', P .. 'demand', model) and 1 or 0
  if wanted == 1 or (fields[1] and fields[1] ~= 'unloaded') or fields[7] then
    local running, idle_us, run_ms, last = read_fields(P .. 'served:' .. model, '@running', '@idle_us', '@run_ms', '@idle_tenant')
    local oldest = redis.call('ZRANGE', P .. 'waiting:' .. model, 0, 0, 'WITHSCORES')
    local waiting = oldest[1] and redis.call('ZCARD', P .. 'waiting:' .. model) or 0
    local tenants = {}
    for tenant, use in pairs(tenants_of(model, waiting, tonumber(running) or 0, last)) do
      local limits = redis.call('HGET', P .. 'served:' .. model, tenant .. ':limits')
      local account = switch_account(redis.call('HGET', P .. 'switch_accounts', tenant))
      for _, value in ipairs({ tenant, use[1], use[2], string.match(limits or '', '^(%S+)') or '1', string.format('%.3f', account) }) do
        tenants[#tenants + 1] = value
      end
    end
    answer[#answer + 1] = { model, fields, wanted, waiting, oldest[2] or '', tonumber(running) or 0, idle_us or '', run_ms or '', tenants }
  end
end
return answer
