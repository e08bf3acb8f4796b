-- Let one more inbox hear what a response says from now on. An ended one has nothing more to say.
-- KEYS[1] prefix
-- ARGV    2 id  3 inbox  4 '1' to attach, '0' to detach
-- returns the status, or nil when the ticket is unknown
-- include: base
local row = redis.call('HMGET', ticket_key(ARGV[2]), 'status', 'inboxes')
if not row[1] then return nil end
if not TERMINAL[row[1]] then
  local kept = {}
  for inbox in string.gmatch(row[2] or '', '[^,]+') do
    if inbox ~= ARGV[3] then kept[#kept + 1] = inbox end
  end
  if ARGV[4] == '1' then kept[#kept + 1] = ARGV[3] end
  redis.call('HSET', ticket_key(ARGV[2]), 'inboxes', table.concat(kept, ','))
end
return row[1]
