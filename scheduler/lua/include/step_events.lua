-- The sections of `step.lua`: the events of jobs that run on one replica, or that end in this call.
-- include: store/keys
-- include: scheduler/log
-- include: store/counters
local SPACE = 32

-- The jobs whose run must stop: id and reason (fenced | cancel | log_lost), one after the other.
local stopped = {}

-- The ids of the jobs whose log lacks an event.
local lost = {}

-- Return the subscribers of a run that holds its slot (`slot_value`) with this fence; else nil, and why it must
-- stop.
local function check_run(value, fence)
  if not value then return nil, 'fenced' end
  local first, last = string.find(value, fence, 1, true)
  if first == 1 and string.byte(value, last + 1) == SPACE then return string.sub(value, last + 2) end
  return nil, string.find(value, 'cancel ' .. fence .. ' ', 1, true) == 1 and 'cancel' or 'fenced'
end

-- Append the events ARGV[first..first + count - 1], the first of which has this number (text). Returns the number
-- of the log's last event, or nil when the log lacks an event before the first.
local function append(id, number, count, first, subscribers)
  local key, at = log_key(id), tonumber(number)
  local length, skipped, written = at - 1, 0, 0
  -- that a log is empty is known from writing its first event: an entry's id must be larger than the one before
  if at == 1 and not redis.pcall('XADD', key, '1-0', 'e', ARGV[first]).err then
    written = 1
  else
    length = redis.call('XLEN', key)
    if at > length + 1 then return nil end
    skipped = length + 1 - at
  end
  for offset = skipped, count - 1 do
    local event = ARGV[first + offset]
    if offset > 0 then number = text(at + offset) end
    if offset >= written then redis.call('XADD', key, number, 'e', event) end
    publish(subscribers, id, number, event)
  end
  return math.max(length, at + count - 1)
end

-- Append the events of a section, which begins after ARGV[at]. check_job(index, id, fence) returns what `check_run`
-- returns; on_appended(id, last) is optional. Returns the place of the section's last argument.
local function append_section(at, check_job, on_appended)
  local jobs = tonumber(ARGV[at + 2])
  local ids = at + 2
  local fences, numbers, counts = ids + jobs, ids + 2 * jobs, ids + 3 * jobs
  local first = counts + jobs + 1
  for index = 1, jobs do
    local id, count = ARGV[ids + index], tonumber(ARGV[counts + index])
    local subscribers, reason = check_job(index, id, ARGV[fences + index])
    if subscribers then
      local last = append(id, ARGV[numbers + index], count, first, subscribers)
      if not last then
        reason = 'log_lost'
        lost[#lost + 1] = id
      elseif on_appended then
        on_appended(id, last)
      end
    end
    if reason then stopped[#stopped + 1] = id; stopped[#stopped + 1] = reason end
    if reason == 'fenced' then add_to_counter('fenced step') end
    first = first + count
  end
  return first - 1
end
