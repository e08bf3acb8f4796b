#!lua flags=no-writes,allow-oom
-- Return a request of the history. Changes nothing. One command for each tenant with records.
-- KEYS[1] prefix
-- args: id
-- returns the text of the record, or false
-- include: store/base
if string.find(args.id, ' ', 1, true) then return false end -- the texts of a request, which this does not return
for _, tenant in ipairs(redis.call('ZRANGE', P .. 'request_tenants', 0, -1)) do
  local record = redis.call('HGET', P .. 'requests:' .. tenant, args.id)
  if record then return record end
end
return false
