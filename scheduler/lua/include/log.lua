-- The event log: one stream per response, event n is entry `n-0`, so its length is the number of the last event.
-- Copies are published to the channel of each subscriber of the response, as lines "<id> <n> <event>"; a
-- subscriber that misses a copy reads the log.

local function publish_to(subscribers, message)
  for subscriber in string.gmatch(subscribers, '[^,]+') do
    redis.call('PUBLISH', P .. 'subscriber:' .. subscriber, message)
  end
end

-- Copies as pieces of text, by list of subscribers ("name,name"); nil: each copy is published at once.
local collected = nil

-- From now on, collect the copies; `publish_collected` publishes them as one message for each subscriber.
local function collect_copies() collected = {} end

local function publish_collected()
  local messages = {}
  for subscribers, pieces in pairs(collected) do
    local lines = table.concat(pieces)
    for subscriber in string.gmatch(subscribers, '[^,]+') do
      messages[subscriber] = messages[subscriber] and messages[subscriber] .. '\n' .. lines or lines
    end
  end
  for subscriber, message in pairs(messages) do publish_to(subscriber, message) end
end

-- Publish a copy of an event. subscribers may be missing or empty; number is text.
local function publish(subscribers, id, number, event)
  if not subscribers or subscribers == '' then return end
  if not collected then return publish_to(subscribers, table.concat({ id, number, event }, ' ')) end
  local pieces, count = collected[subscribers], 0
  if pieces then
    count = #pieces + 1
    pieces[count] = '\n'
  else
    pieces = {}
    collected[subscribers] = pieces
  end
  pieces[count + 1], pieces[count + 2], pieces[count + 3] = id, ' ', number
  pieces[count + 4], pieces[count + 5] = ' ', event
end

local function log_length(id) return redis.call('XLEN', log_key(id)) end

-- Append an event; its number is text.
local function append_event(id, number, event) redis.call('XADD', log_key(id), number .. '-0', 'e', event) end
