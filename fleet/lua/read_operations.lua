#!lua flags=no-writes,allow-oom
-- Read a page of the operations that are listed, the newest first.
-- KEYS[1] prefix
-- args: after limit max_looked_at kind model status
--   after: operation after which the page begins, or ''; limit: most operations of the page
--   max_looked_at: most that are looked at; kind, model: or ''; status: 'open' (pending or running), another, or ''
-- returns {unknown} when `after` is not listed | {time (us), the last one that was looked at or '', more to look at 0|1,
--         operation, {field, value, ...}, ...}
-- include: store/base
local after, kind, model, status = args.after, args.kind, args.model, args.status
local limit, most = tonumber(args.limit), tonumber(args.max_looked_at)
local key, CHUNK = P .. 'operations', 100
local at, last = 0, after
if after ~= '' then
  at = redis.call('ZREVRANK', key, after)
  if not at then return { 'unknown' } end
  at = at + 1
end
local count, first, found = redis.call('ZCARD', key), at, {}

-- Whether a row is asked for. An operation that has expired has none.
local function matches(row)
  if model == '' and status == '' then return true end
  local of_model, has_status = read_fields(row, 'model', 'status')
  if model ~= '' and of_model ~= model then return false end
  if status == 'open' then return has_status == 'pending' or has_status == 'running' end
  return status == '' or has_status == status
end

while at < count and at - first < most and #found < limit do
  for _, id in ipairs(redis.call('ZREVRANGE', key, at, at + CHUNK - 1)) do
    if at - first >= most or #found >= limit then break end
    at, last = at + 1, id
    local row = P .. 'operation:' .. id
    if (kind == '' or string.sub(id, 1, #kind + 1) == kind .. '_') and matches(row) then
      local fields = redis.call('HGETALL', row)
      if #fields > 0 then found[#found + 1] = { id, fields } end
    end
  end
end
local answer = { text(NOW), last, at < count and 1 or 0 }
for _, one in ipairs(found) do
  answer[#answer + 1] = one[1]
  answer[#answer + 1] = one[2]
end
return answer
