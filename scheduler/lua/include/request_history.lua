-- The history of requests: the records of those that ended or were refused, by tenant (docs/decisions/0056-requests.md).
--
-- A record is two lines of text, words in a fixed order (scheduler/request_history.py). It has neither prompt nor answer, nor a
-- message of an error. A tenant has at most `bounds.requests` records, no older than `bounds.seconds`. All of them have at most
-- `bounds.bytes`: beyond it, the tenant with the most bytes loses its oldest ones. The texts of a request whose tenant allows it
-- are beside its record, count with it and are removed with it (`include/request_texts`).
--
-- Keep records: {their two lines, and their texts or nil}; a few hundred at most. bounds: { seconds, requests, bytes }, as
-- `history` in the settings. Unreadable records are left out. The commands grow with their tenants, and with the requests that
-- have texts.
local function keep_requests(records, bounds)
  local max_of_tenant, max_bytes = tonumber(bounds.requests), tonumber(bounds.bytes)
  local MAX_TENANTS = 1000
  local RECORD_BYTES = 250 -- what a record, or its texts, takes beside that, roughly; also in include/request_texts
  local MAX_REMOVED, MAX_ROUNDS = 250, 4 -- of a tenant at once, and so often in one call
  local sizes = P .. 'request_bytes'
  local tenants = P .. 'request_tenants'
  local oldest_us = text(NOW - tonumber(bounds.seconds) * 1000000)
  local all_bytes = nil -- of all records, from the first change on

  local function add_bytes(tenant, bytes)
    redis.call('HINCRBY', sizes, tenant, text(bytes))
    all_bytes = redis.call('HINCRBY', sizes, '@all', text(bytes))
  end

  -- The fields of records and of their texts.
  local function with_texts(ids)
    local fields = {}
    for at, id in ipairs(ids) do fields[2 * at - 1], fields[2 * at] = id, 'text ' .. id end
    return fields
  end

  local function bytes_of(tenant, ids)
    local bytes = 0
    for _, record in ipairs(redis.call('HMGET', P .. 'requests:' .. tenant, unpack(with_texts(ids)))) do
      if record then bytes = bytes + #record + RECORD_BYTES end
    end
    return bytes
  end

  -- Remove records of a tenant; returns whether there are any to remove.
  local function remove(tenant, ids)
    if #ids == 0 then return false end
    local bytes = bytes_of(tenant, ids)
    redis.call('HDEL', P .. 'requests:' .. tenant, unpack(with_texts(ids)))
    redis.call('ZREM', P .. 'request_times:' .. tenant, unpack(ids))
    add_bytes(tenant, -bytes)
    return true
  end

  -- Forget a tenant's records, all of which are too old, or which make room for those of another tenant.
  local function forget(tenant)
    redis.call('DEL', P .. 'requests:' .. tenant, P .. 'request_times:' .. tenant)
    all_bytes = redis.call('HINCRBY', sizes, '@all', text(-(tonumber(redis.call('HGET', sizes, tenant)) or 0)))
    redis.call('HDEL', sizes, tenant)
    redis.call('ZREM', tenants, tenant)
  end

  local function oldest(tenant, count)
    if count <= 0 then return {} end
    return redis.call('ZRANGE', P .. 'request_times:' .. tenant, 0, math.min(count, MAX_REMOVED) - 1)
  end

  -- Write the records of a tenant, and remove what is beyond its bounds. batch: records, times and texts (`kept`) by id, ids,
  -- bytes
  local function write(tenant, batch)
    local requests = P .. 'requests:' .. tenant
    local by_time = P .. 'request_times:' .. tenant
    local values, times = {}, {}
    for at, id in ipairs(batch.ids) do
      values[2 * at - 1], values[2 * at] = id, batch.records[id]
      times[2 * at - 1], times[2 * at] = batch.times[id], id
    end
    -- the setting of the tenant as of now, whatever it was at the admission
    if next(batch.kept) and redis.call('SISMEMBER', P .. 'text_tenants', tenant) == 1 then
      for id, kept in pairs(batch.kept) do
        if redis.call('HEXISTS', job_key(id), 'keeps_text') == 1 then -- else its client has deleted it
          values[#values + 1], values[#values + 2] = 'text ' .. id, kept
          batch.bytes = batch.bytes + #kept + RECORD_BYTES
        end
      end
    end
    local before = bytes_of(tenant, batch.ids) -- the job of a batch's line may end twice: the line was run again
    redis.call('HSET', requests, unpack(values))
    redis.call('ZADD', by_time, unpack(times))
    add_bytes(tenant, batch.bytes - before)
    remove(tenant, oldest(tenant, redis.call('ZCARD', by_time) - max_of_tenant))
    remove(tenant, redis.call('ZRANGE', by_time, '-inf', oldest_us, 'BYSCORE', 'LIMIT', 0, MAX_REMOVED))
    redis.call('EXPIRE', requests, bounds.seconds)
    redis.call('EXPIRE', by_time, bounds.seconds)
  end

  local function largest_tenant()
    local flat, largest, most = redis.call('HGETALL', sizes), nil, 0
    for at = 1, #flat, 2 do
      local bytes = tonumber(flat[at + 1])
      if flat[at] ~= '@all' and bytes > most then largest, most = flat[at], bytes end
    end
    return largest
  end

  local batches, latest = {}, {}
  for _, lines in ipairs(records) do
    local id, ended_us = string.match(lines[1], '^(%S+) (%d+) ')
    local tenant, record = string.match(lines[2], '^%S+'), lines[1] .. '\n' .. lines[2]
    if id and tenant then
      local batch = batches[tenant] or { records = {}, times = {}, kept = {}, ids = {}, bytes = 0 }
      batches[tenant] = batch
      if not batch.records[id] then
        batch.ids[#batch.ids + 1] = id
        batch.bytes = batch.bytes + #record + RECORD_BYTES
        batch.records[id], batch.times[id], batch.kept[id] = record, ended_us, lines[3]
      end
    end
  end
  if not next(batches) then return end
  -- first: all that Redis has let expire is taken off the bytes before its tenant writes again
  for _, tenant in ipairs(redis.call('ZRANGE', tenants, '-inf', oldest_us, 'BYSCORE', 'LIMIT', 0, MAX_REMOVED)) do
    forget(tenant)
  end
  for tenant, batch in pairs(batches) do
    write(tenant, batch)
    latest[#latest + 1] = text(NOW)
    latest[#latest + 1] = tenant
  end
  redis.call('ZADD', tenants, unpack(latest))
  local too_many = redis.call('ZCARD', tenants) - MAX_TENANTS
  if too_many > 0 then -- those that have sent nothing for the longest time
    for _, tenant in ipairs(redis.call('ZRANGE', tenants, 0, too_many - 1)) do forget(tenant) end
  end
  for _ = 1, MAX_ROUNDS do
    local largest = all_bytes > max_bytes and largest_tenant()
    if not largest then break end
    -- none to remove: Redis has let its records expire, or has lost them
    if not remove(largest, oldest(largest, MAX_REMOVED)) then forget(largest) end
  end
end
