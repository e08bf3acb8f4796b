-- Let one more subscriber hear what a response says from now on. An ended one has nothing more to say.
-- KEYS[1] prefix
-- ARGV    2 id  3 subscriber  4 '1' to attach, '0' to detach
-- returns the status, or nil when the job is unknown
-- include: base
local row = redis.call('HMGET', job_key(ARGV[2]), 'status', 'subscribers')
if not row[1] then return nil end
if not TERMINAL[row[1]] then
  local kept = {}
  for subscriber in string.gmatch(row[2] or '', '[^,]+') do
    if subscriber ~= ARGV[3] then kept[#kept + 1] = subscriber end
  end
  if ARGV[4] == '1' then kept[#kept + 1] = ARGV[3] end
  redis.call('HSET', job_key(ARGV[2]), 'subscribers', table.concat(kept, ','))
end
return row[1]
