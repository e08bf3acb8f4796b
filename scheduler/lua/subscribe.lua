-- Add a subscriber to a response: it receives copies of all later events. An ended response has no later
-- events.
-- KEYS[1] prefix
-- ARGV    2 id  3 subscriber
-- returns the status, or nil when the job is unknown
-- include: base
local status, subscribers = read_fields(job_key(ARGV[2]), 'status', 'subscribers')
if not status then return nil end
if not TERMINAL[status] then
  local names = {}
  for subscriber in string.gmatch(subscribers or '', '[^,]+') do
    if subscriber ~= ARGV[3] then names[#names + 1] = subscriber end
  end
  names[#names + 1] = ARGV[3]
  redis.call('HSET', job_key(ARGV[2]), 'subscribers', table.concat(names, ','))
end
return status
