-- The limits of a tenant within a window: requests, and tokens of prompts and answers. What is admitted counts, and
-- nothing else.
--
-- A function reads a limit without a change, and returns a table: `most`; `remaining`; `reset_us`, the time (us) until
-- all of it is free again; `retry_us`, the time at which a request is admitted, nil when one is admitted now, 0 when
-- none ever is; and `take`, a function that counts a request.
--
-- The window of a limit may be changed, and the clock be set back: what is further ahead than a window does not count.

-- A caller whose name is no tenant's belongs to the tenant `default`, and has limits of its own, as its account
-- `default/<name>`. `named_callers` has the names by the time (us) of their latest admission: at most MAX_NAMES of them
-- within a window; further ones share the account of the tenant.

-- include: scheduler/token_parts

local MAX_NAMES = 1000 -- also in docs/configuration.md

-- Let a key expire after its window. Redis' own clock decides, which is never behind.
local function expire_after(key, window_us) redis.call('EXPIRE', key, math.ceil(window_us / 1000000) + 1) end

-- Return the name of the account whose limits a request counts for, and a function that counts its name; window_us: the
-- longest of its limits' windows. name: '' for a caller that is a tenant.
local function account_of(tenant, name, window_us)
  if name == '' then return tenant, function() end end
  local key, kept_us = P .. 'named_callers', window_us * (1 + 1 / PARTS)
  local since = NOW - kept_us
  local latest = tonumber(redis.call('ZSCORE', key, name))
  if not (latest and latest > since) and redis.call('ZCOUNT', key, '(' .. text(since), '+inf') >= MAX_NAMES then
    return tenant, function() end
  end
  return tenant .. '/' .. name, function()
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(since))
    redis.call('ZADD', key, text(NOW), name)
    expire_after(key, kept_us)
  end
end

-- Up to so many requests, each admission is an entry of a log, which is exact.
local MAX_LOGGED = 2000

-- `rate:<tenant>` has the admissions of the window by time (us): at no time more than `most` of them.
local function logged_requests(tenant, most, window_us)
  local key, since = P .. 'rate:' .. tenant, '(' .. text(NOW - window_us)
  local latest = text(NOW + window_us)
  local count = redis.call('ZCOUNT', key, since, latest)
  local limit = { most = most, remaining = math.max(0, most - count), reset_us = 0 }
  if count >= most then
    -- one is admitted when fewer than `most` are left; there may be more than `most` after the limit was lowered
    local last = redis.call('ZRANGE', key, since, latest, 'BYSCORE', 'LIMIT', count - most, 1, 'WITHSCORES')[2]
    limit.retry_us = tonumber(last) + window_us
  end
  if count > 0 then
    limit.reset_us = math.min(tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]) - NOW, window_us) + window_us
  end
  limit.take = function(id)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(NOW - window_us))
    redis.call('ZADD', key, text(NOW), id)
    expire_after(key, window_us)
    limit.remaining, limit.reset_us = limit.remaining - 1, window_us
  end
  return limit
end

-- GCRA (ITU-T I.371): `rate_tat:<tenant>` is the time at which all of the burst, a tenth of the limit, is free again. The
-- rest comes evenly, so that a window has at most burst + (most - burst) requests.
local function paced_requests(tenant, most, window_us)
  local key, burst = P .. 'rate_tat:' .. tenant, math.floor(most / 10)
  local interval_us = math.ceil(window_us / (most - burst))
  local free_us = math.max(tonumber(redis.call('GET', key)) or 0, NOW)
  if free_us > NOW + window_us then free_us = NOW end
  local limit = { most = most }
  local function update()
    limit.reset_us = free_us - NOW
    limit.remaining = math.max(0, math.floor(burst - limit.reset_us / interval_us))
  end
  update()
  if limit.remaining == 0 then limit.retry_us = free_us - (burst - 1) * interval_us end
  limit.take = function()
    free_us = free_us + interval_us
    redis.call('SET', key, text(free_us), 'EX', math.ceil((free_us - NOW) / 1000000) + 1)
    update()
  end
  return limit
end

-- See `include/token_parts.lua`. A part counts until all of it has left the window, so that no window has more than
-- `most`.
local function counted_tokens(tenant, most, window_us, cost)
  local key = tokens_key(tenant)
  local function left_at(part) return math.ceil((part + 1) * window_us / PARTS) + window_us end
  local flat, parts, gone, used = redis.call('HGETALL', key), {}, {}, 0
  for at = 1, #flat, 2 do
    local part, tokens = tonumber(flat[at]), tonumber(flat[at + 1])
    if left_at(part) <= NOW or part > part_at(NOW, window_us) + PARTS then gone[#gone + 1] = flat[at]
    else
      used = used + tokens
      parts[#parts + 1] = { part, tokens }
    end
  end
  table.sort(parts, function(one, other) return one[1] < other[1] end)
  local limit = { most = most, remaining = math.max(0, most - used), reset_us = 0 }
  if #parts > 0 then limit.reset_us = left_at(parts[#parts][1]) - NOW end
  if cost > most then limit.retry_us = 0
  elseif used + cost > most then
    local left = used
    for _, part in ipairs(parts) do
      left = left - part[2]
      limit.retry_us = left_at(part[1])
      if left + cost <= most then break end
    end
  end
  limit.take = function()
    local part = part_at(NOW, window_us)
    redis.call('HINCRBY', key, text(part), cost)
    if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
    expire_after(key, window_us * (1 + 1 / PARTS))
    limit.remaining, limit.reset_us = math.max(0, limit.remaining - cost), left_at(part) - NOW
  end
  return limit
end

-- Return what a limit has left for the reply: most, remaining, time until it is all free again (us).
local function limit_state(limit)
  if not limit then return 0, 0, 0 end
  return limit.most, limit.remaining, math.ceil(limit.reset_us)
end
