#!lua flags=no-writes,allow-oom
-- Return a request of the history with its texts. Changes nothing. One command for each tenant with records.
-- KEYS[1] prefix
-- args: id kept_us
--   kept_us: older ones do not count
-- returns {text of the record, its texts or ''}; {} if the history does not have it
-- include: store/base
-- include: scheduler/request_texts
if string.find(args.id, ' ', 1, true) then return {} end
for _, tenant in ipairs(redis.call('ZRANGE', P .. 'request_tenants', 0, -1)) do
  local record, texts = read_fields(P .. 'requests:' .. tenant, args.id, text_field(args.id))
  if record then
    local ended_us = tonumber(string.match(record, '^%S+ (%d+) ')) or 0
    return { record, ended_us >= NOW - tonumber(args.kept_us) and texts or '' }
  end
end
return {}
