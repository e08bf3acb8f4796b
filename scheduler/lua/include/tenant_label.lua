-- Labels of tenants in `counters`.

-- Return the label of a tenant in `counters`: its name if it is one of the first MAX_TENANTS that were counted, else
-- `other`. It is decided here and kept, not chosen at each scrape: a counter that took over the count of another tenant, or
-- lost it, would show a burst of requests.
local label_by_tenant = {}
local function tenant_label(tenant)
  local MAX_TENANTS = 200 -- also in docs/metrics.md and api/operations/metrics/sample_store.py
  if label_by_tenant[tenant] then return label_by_tenant[tenant] end
  local key, label = P .. 'counted_tenants', tenant
  if redis.call('SISMEMBER', key, tenant) == 0 then
    if redis.call('SCARD', key) < MAX_TENANTS then redis.call('SADD', key, tenant) else label = 'other' end
  end
  label_by_tenant[tenant] = label
  return label
end
