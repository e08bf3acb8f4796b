-- Append the events that one engine step produced, for any number of jobs. Each group of events carries the
-- fencing token of its claim, so a worker that lost the job cannot append. Events that are in the log already
-- (a repeated call) are skipped.
-- KEYS[1] prefix
-- ARGV    2 largest log (bytes)  3.. groups: id, fence, number of the first event, count, the events
-- returns {id, reason, id, reason, ...} of the jobs whose run must stop; the reason is fenced, cancel or full
-- include: base
-- include: log
local stopped, copies, at = {}, {}, 3
while at <= #ARGV do
  local id, fence, number, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local status, current_fence, cancel, stored_last, subscribers, stored_bytes =
    read_fields(job_key(id), 'status', 'fence', 'cancel', 'last', 'subscribers', 'bytes')
  local stop_reason = nil
  if status ~= 'running' or current_fence ~= fence then
    stop_reason = 'fenced'
  elseif cancel == '1' then
    stop_reason = 'cancel'
  else
    local last, bytes, lines = tonumber(stored_last), tonumber(stored_bytes), {}
    for offset = 0, count - 1 do
      local event = ARGV[at + 4 + offset]
      if number + offset > last then
        last, bytes = number + offset, bytes + #event
        append_event(id, last, event)
        lines[#lines + 1] = id .. ' ' .. text(last) .. ' ' .. event
      end
    end
    redis.call('HSET', job_key(id), 'last', text(last), 'bytes', text(bytes))
    if #lines > 0 and subscribers and subscribers ~= '' then
      local copy = copies[subscribers]
      if copy then copy[#copy + 1] = table.concat(lines, '\n')
      else copies[subscribers] = { table.concat(lines, '\n') } end
    end
    if bytes > tonumber(ARGV[2]) then stop_reason = 'full' end
  end
  if stop_reason then stopped[#stopped + 1] = id; stopped[#stopped + 1] = stop_reason end
  at = at + 4 + count
end
for subscribers, lines in pairs(copies) do publish(subscribers, table.concat(lines, '\n')) end
return stopped
