-- Add a subscriber to a response: it receives copies of all later events. An ended response has no later
-- events.
-- KEYS[1] prefix
-- args: id subscriber
-- returns the status, or nil when the job is unknown
-- include: store/base
local id = args.id
local status, subscribers, replica, fence, cancel =
  read_fields(job_key(id), 'status', 'subscribers', 'replica', 'fence', 'cancel')
if not status then return nil end
if not TERMINAL[status] then
  local names = {}
  for subscriber in string.gmatch(subscribers or '', '[^,]+') do
    if subscriber ~= args.subscriber then names[#names + 1] = subscriber end
  end
  names[#names + 1] = args.subscriber
  subscribers = table.concat(names, ',')
  redis.call('HSET', job_key(id), 'subscribers', subscribers)
  if status == 'running' then
    redis.call('HSET', slots_key(replica), id, slot_value(fence, subscribers, cancel))
  end
end
return status
