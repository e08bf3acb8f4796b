#!lua flags=no-writes,allow-oom
-- Return a page of the history of requests, the latest ends first. Changes nothing. The commands grow with the tenants, and
-- with the records that are looked at.
-- KEYS[1] prefix
-- args: tenant model status code since_us until_us before_id kept_us most most_read
--   tenant, model, status, code: '' for all
--   since_us, until_us: of the ends, both included; '' for all
--   before_id: of those that ended at until_us, the records before this id in the order of ids; '' for all
--   kept_us: older records do not count, which are removed with the next one of their tenant
--   most: most records of the page; most_read: most records to look at
-- returns {{text of a record, ...}, end (us) and id of the last record that was looked at; '0' and '' at the end}
-- include: store/base
local CHUNK = 32
local since_us = math.max(tonumber(args.since_us) or 0, NOW - tonumber(args.kept_us))
local until_us = tonumber(args.until_us) or math.huge

-- The records of a tenant, from the latest end on: a function that returns {tenant, end (us), id} and then nil.
local function records_of(tenant)
  local key, chunk, at, offset = P .. 'request_times:' .. tenant, {}, 1, 0
  local newest = until_us == math.huge and '+inf' or text(until_us)
  local function following()
    if at > #chunk then
      local most = offset == 0 and 1 or CHUNK -- of most of many tenants no record is shown
      chunk = redis.call('ZRANGE', key, newest, text(since_us), 'BYSCORE', 'REV', 'LIMIT', offset, most, 'WITHSCORES')
      at, offset = 1, offset + most
    end
    if not chunk[at] then return nil end
    local id, ended_us = chunk[at], tonumber(chunk[at + 1])
    at = at + 2
    if ended_us == until_us and args.before_id ~= '' and id >= args.before_id then return following() end
    return { tenant, ended_us, id }
  end
  return following
end

local function is_earlier(a, b) return a[2] < b[2] or (a[2] == b[2] and a[3] < b[3]) end

-- The next record of each tenant, with the function that returns its next ones; the latest is the last.
local heads = {}
for _, tenant in ipairs(args.tenant ~= '' and { args.tenant } or redis.call('ZRANGE', P .. 'request_tenants', 0, -1)) do
  local following = records_of(tenant)
  local head = following()
  if head then
    head[4] = following
    heads[#heads + 1] = head
  end
end
table.sort(heads, is_earlier)

local function insert(head)
  local low, high = 1, #heads + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_earlier(heads[middle], head) then low = middle + 1 else high = middle end
  end
  table.insert(heads, low, head)
end

local function is_wanted(record)
  local model, status, code = string.match(record, '\n%S+ (%S+) %S+ (%S+) (%S+) ')
  return model and (args.model == '' or model == args.model) and (args.status == '' or status == args.status)
    and (args.code == '' or code == args.code)
end

local page, looked_at, last = {}, 0, nil
while #heads > 0 and #page < tonumber(args.most) and looked_at < tonumber(args.most_read) do
  last, looked_at = table.remove(heads), looked_at + 1
  local record = redis.call('HGET', P .. 'requests:' .. last[1], last[3])
  if record and is_wanted(record) then page[#page + 1] = record end
  local head = last[4]()
  if head then
    head[4] = last[4]
    insert(head)
  end
end
if #heads == 0 then return { page, '0', '' } end
return { page, text(last[2]), last[3] }
