-- What has been said: one stream per response, entry n is `n-0`. Whoever listens gets a copy on the channel
-- of its inbox, as lines "<id> <n> <event>"; a copy that is lost is read again from the log.
local function tell(inboxes, lines)
  for inbox in string.gmatch(inboxes or '', '[^,]+') do
    redis.call('PUBLISH', P .. 'inbox:' .. inbox, lines)
  end
end

local function write(id, number, event)
  redis.call('XADD', log_key(id), text(number) .. '-0', 'e', event)
end
