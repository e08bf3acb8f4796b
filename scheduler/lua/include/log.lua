-- The event log: one stream per response, event n is entry `n-0`. Copies are published to the channel of each
-- subscriber of the response, as lines "<id> <n> <event>"; a subscriber that misses a copy reads the log.
local collected = nil

-- From now on, collect the copies; `publish_collected` publishes them as one message for each subscriber.
local function collect_copies() collected = {} end

local names = {} -- the subscribers of each list, split at the commas

local function publish(subscribers, lines)
  if not subscribers or subscribers == '' then return end
  if not names[subscribers] then
    names[subscribers] = {}
    for name in string.gmatch(subscribers, '[^,]+') do table.insert(names[subscribers], name) end
  end
  for _, subscriber in ipairs(names[subscribers]) do
    if not collected then
      redis.call('PUBLISH', P .. 'subscriber:' .. subscriber, lines)
    elseif collected[subscriber] then
      table.insert(collected[subscriber], lines)
    else
      collected[subscriber] = { lines }
    end
  end
end

local function publish_collected()
  for subscriber, lines in pairs(collected) do
    redis.call('PUBLISH', P .. 'subscriber:' .. subscriber, table.concat(lines, '\n'))
  end
end

local function append_event(id, number, event)
  redis.call('XADD', log_key(id), text(number) .. '-0', 'e', event)
end
