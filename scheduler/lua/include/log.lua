-- What has been said: one stream per response, entry n is `n-0`. Whoever listens gets a copy on the channel
-- of its subscriber, as lines "<id> <n> <event>"; a copy that is lost is read again from the log.
local function publish(subscribers, lines)
  for subscriber in string.gmatch(subscribers or '', '[^,]+') do
    redis.call('PUBLISH', P .. 'subscriber:' .. subscriber, lines)
  end
end

local function append_event(id, number, event)
  redis.call('XADD', log_key(id), text(number) .. '-0', 'e', event)
end
