-- Count ended jobs: in `counters`, for /metrics, in `usage:<day>`, `key_usage:<day>:<tenant>` and
-- `month_usage:<month>`, and in `bytes`. Each end is one entry of the stream `ended`; an entry is removed in the call that counts it, so it counts exactly once.
-- include: scheduler/tenant_label
-- include: scheduler/request_history
-- include: scheduler/budget

-- Count at most MAX_ENDED ended jobs; returns whether more are there. bounds: of the history (`keep_requests`).
-- (One function: a script may have 200 local names.)
local function count_ended_jobs(bounds)
  local MAX_ENDED = 250
  local LINE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%d+) (%-?%d+) (%-?%d+) (%S+) (%-?%d+) (.*)$'

  -- The sums of one call: {[field] = amount}, {[day] = {[field] = {amounts}}}, {[day:tenant] = {the same}},
  -- {[month] = {[tenant] = {amounts}}}, {[tenant] = bytes}, {[model] = {cached tokens, input tokens}}, {[field of `waits:<minute>`] = amount}.
  local sums, usage, key_usage, month_usage, bytes_by_tenant, cache, waits = {}, {}, {}, {}, {}, {}, {}

  local function add(field, amount)
    if amount > 0 then sums[field] = (sums[field] or 0) + amount end
  end

  local function observe(kind, labels, value_us)
    local bucket, sum = histogram_fields(kind, labels, math.max(0, value_us))
    add(bucket, 1)
    add(sum, math.max(0, value_us))
  end

  -- Add to the times of a tenant, which the samples for charts have: the buckets of `queue_wait` or `first_output`, and no sum.
  local function observe_of_tenant(kind, label, value_us)
    local bucket = histogram_fields(kind, label, math.max(0, value_us))
    add('tenant_' .. bucket, 1)
  end

  -- Add a wait (us) to the recent ones of a model: to their sum, and to bucket k of those of more than WAIT_GROWTH^(k-1) ms.
  local function add_wait(model, wait_us)
    local WAIT_GROWTH = 1.25 -- also in scheduler/waits.py
    local bucket = wait_us <= 1000 and 0 or math.ceil(math.log(wait_us / 1000) / math.log(WAIT_GROWTH))
    local count, sum = text(bucket) .. ' ' .. model, 'sum ' .. model
    waits[count] = (waits[count] or 0) + 1
    waits[sum] = (waits[sum] or 0) + wait_us
  end

  -- Return input, output and cached tokens of a usage as JSON text; zeros for ''. Then, if it has any, a table of the
  -- length of audio (ms), the number of images, and their computed pixels.
  local function amounts_of(json)
    local read, values = pcall(cjson.decode, json)
    if not read or type(values) ~= 'table' then return 0, 0, 0 end
    local media = values.audio_ms and { tonumber(values.audio_ms) or 0, tonumber(values.images) or 0, tonumber(values.pixel_steps) or 0 }
    return tonumber(values.input_tokens) or 0, tonumber(values.output_tokens) or 0, tonumber(values.cached_tokens) or 0, media
  end

  local function add_amounts(by_field, field, more)
    local amounts = by_field[field] or {}
    for at, amount in ipairs(more) do amounts[at] = (amounts[at] or 0) + amount end
    by_field[field] = amounts
  end

  local function add_usage(tables, at, field, amounts)
    tables[at] = tables[at] or {}
    add_amounts(tables[at], field, amounts)
  end

  -- Add an entry to the sums. day: since 1970-01-01, UTC; key: id of the API key, nil in an entry of an older platform.
  local function add_ended(day, line, key)
    local tenant, model, priority, status, code, reason, attempts, queue_us, run_us, first_ms, bytes, json =
      string.match(line, LINE)
    if not tenant then return add('unreadable_ends', 1) end
    local input, output, cached, media = amounts_of(json)
    queue_us, run_us, first_ms = tonumber(queue_us), tonumber(run_us), tonumber(first_ms)
    local label, name = tenant_label(tenant), model_label(model)
    add('requests ' .. name .. ' ' .. label .. ' ' .. status, 1)
    add('input_tokens ' .. name .. ' ' .. label, input)
    add('output_tokens ' .. name .. ' ' .. label, output)
    add('cached_tokens ' .. name .. ' ' .. label, cached)
    if media then
      add('audio_ms ' .. name .. ' ' .. label, media[1])
      add('images ' .. name .. ' ' .. label, media[2])
      add('pixel_steps ' .. name .. ' ' .. label, media[3])
      if media[1] > 0 then add('audio_run_us ' .. name, run_us) end
    end
    if code ~= '-' then
      add('failures ' .. name .. ' ' .. code, 1)
      add('tenant_errors ' .. label .. ' ' .. code, 1)
    end
    if reason ~= '-' then add('finishes ' .. name .. ' ' .. reason, 1) end
    observe('queue_wait', name .. ' ' .. priority, queue_us)
    observe_of_tenant('queue_wait', label, queue_us)
    add_wait(name, queue_us)
    if tonumber(attempts) > 0 and run_us > 0 then observe('run_time', name, run_us) end
    if first_ms then
      observe('first_output', name, queue_us + first_ms * 1000)
      observe_of_tenant('first_output', label, queue_us + first_ms * 1000)
      if output > 1 then observe('token_time', name, math.floor((run_us - first_ms * 1000) / (output - 1))) end
    end
    if input > 0 then
      cache[name] = cache[name] or { 0, 0 }
      cache[name] = { cache[name][1] + cached, cache[name][2] + input }
    end
    bytes_by_tenant[tenant] = (bytes_by_tenant[tenant] or 0) + tonumber(bytes)
    local succeeded = (status == 'completed' or status == 'incomplete') and 1 or 0
    local amounts = { 1, succeeded, input, output, cached, queue_us, run_us, unpack(media or {}) }
    add_usage(usage, day, tenant .. ' ' .. model, amounts)
    add_usage(key_usage, day .. ':' .. tenant, model .. ' ' .. (key or '-'), amounts)
    add_usage(month_usage, month_of(day), tenant, { input + output, run_us })
  end

  local USAGE_S, KEY_USAGE_S, MONTH_USAGE_S = 400 * 86400, 100 * 86400, 62 * 86400 -- also in scheduler/usage.py
  local MAX_KEY_ROWS = 500 -- also in scheduler/usage.py
  local OTHER = 'other other'

  -- Return the fields of a hash, each with its line after these amounts are added, and whether one of them is new. What
  -- fields beyond `most` have is added to OTHER. One command, and more only with a new field.
  local function added_to(key, by_field, most)
    local fields = {}
    for field in pairs(by_field) do fields[#fields + 1] = field end
    local lines, is_new = redis.call('HMGET', key, unpack(fields)), false
    for at in ipairs(fields) do is_new = is_new or not lines[at] end
    local rows, values, rest = is_new and redis.call('HLEN', key) or 0, {}, {}

    local function add_line(field, amounts, line)
      local at = 0
      for before in string.gmatch(line or '', '%S+') do
        at = at + 1
        amounts[at] = (amounts[at] or 0) + tonumber(before)
      end
      local words = {}
      for place, amount in ipairs(amounts) do words[place] = text(amount) end
      values[#values + 1] = field
      values[#values + 1] = table.concat(words, ' ')
    end

    for at, field in ipairs(fields) do
      if lines[at] or rows < most then
        rows = rows + (lines[at] and 0 or 1)
        add_line(field, by_field[field], lines[at])
      else add_amounts(rest, OTHER, by_field[field]) end
    end
    if rest[OTHER] then add_line(OTHER, rest[OTHER], redis.call('HGET', key, OTHER)) end
    return values, is_new
  end

  -- Add the sums to `counters`: two commands for each PART of the fields, as a call takes a bounded number of arguments.
  local function write_sums()
    local PART = 1000
    local fields = {}
    for field in pairs(sums) do fields[#fields + 1] = field end
    for from = 1, #fields, PART do
      local part, values = { unpack(fields, from, math.min(from + PART - 1, #fields)) }, {}
      local before = redis.call('HMGET', P .. 'counters', unpack(part))
      for at, field in ipairs(part) do
        values[2 * at - 1], values[2 * at] = field, text((tonumber(before[at]) or 0) + sums[field])
      end
      redis.call('HSET', P .. 'counters', unpack(values))
    end
  end

  local function write_usage(key, by_field, most, kept_s)
    local values, is_new = added_to(key, by_field, most)
    redis.call('HSET', key, unpack(values))
    if is_new then redis.call('EXPIRE', key, kept_s) end
  end

  -- The cached and all input tokens of a model, of which what is older counts less: the recent share of cache hits.
  local function write_cache_hits()
    local CACHE_HALF_LIFE_US = 300 * 1000000
    for model, tokens in pairs(cache) do
      local field = 'cache_hits ' .. model
      local cached, input, at_us =
        string.match(redis.call('HGET', P .. 'counters', field) or '', '^(%S+) (%S+) (%d+)$')
      local rest = at_us and 0.5 ^ (math.max(0, NOW - tonumber(at_us)) / CACHE_HALF_LIFE_US) or 0
      redis.call('HSET', P .. 'counters', field, string.format('%.3f %.3f %.0f', (tonumber(cached) or 0) * rest
        + tokens[1], (tonumber(input) or 0) * rest + tokens[2], NOW))
    end
  end

  local function write_waits()
    local WAITS_S = 600
    local key = P .. 'waits:' .. text(math.floor(NOW / 60000000))
    local is_new = false
    for field, amount in pairs(waits) do
      local sum = redis.call('HINCRBY', key, field, text(amount))
      is_new = is_new or string.sub(field, 1, 4) ~= 'sum ' and sum == amount
    end
    if is_new then redis.call('EXPIRE', key, WAITS_S) end
  end

  local DAY_MS = 86400000
  local key = P .. 'ended'
  local entries = redis.call('XRANGE', key, '-', '+', 'COUNT', MAX_ENDED + 1)
  if #entries == 0 then return false end
  local left = table.remove(entries, MAX_ENDED + 1)
  local offset_ms = math.floor(tonumber(ARGV[1]) / 1000)
  local records = {}
  for at, entry in ipairs(entries) do
    records[at] = { entry[2][4] or '', entry[2][2], entry[2][8] }
    add_ended(math.floor((tonumber(string.match(entry[1], '^%d+')) + offset_ms) / DAY_MS), entry[2][2], entry[2][6])
  end
  -- first: an error below must not let an entry count twice
  if left then redis.call('XTRIM', key, 'MINID', left[1]) else redis.call('DEL', key) end
  write_sums()
  for tenant, bytes in pairs(bytes_by_tenant) do count_bytes(tenant, bytes) end
  for day, by_field in pairs(usage) do write_usage(P .. 'usage:' .. day, by_field, math.huge, USAGE_S) end
  for part, by_field in pairs(key_usage) do write_usage(P .. 'key_usage:' .. part, by_field, MAX_KEY_ROWS, KEY_USAGE_S) end
  for month, by_tenant in pairs(month_usage) do write_usage(P .. 'month_usage:' .. month, by_tenant, math.huge, MONTH_USAGE_S) end
  write_cache_hits()
  write_waits()
  keep_requests(records, bounds)
  return left ~= nil
end
