-- The event log: one stream per response, event n is entry `n-0`. Copies are published to the channel of each
-- subscriber of the response, as lines "<id> <n> <event>"; a subscriber that misses a copy reads the log.
local function publish(subscribers, lines)
  for subscriber in string.gmatch(subscribers or '', '[^,]+') do
    redis.call('PUBLISH', P .. 'subscriber:' .. subscriber, lines)
  end
end

local function append_event(id, number, event)
  redis.call('XADD', log_key(id), text(number) .. '-0', 'e', event)
end
