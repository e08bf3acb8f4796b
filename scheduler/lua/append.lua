-- Append the events that one engine step produced, for any number of jobs. Each group of events carries the
-- fencing token of its claim, so a worker that lost the job cannot append. Events that are in the log already
-- (a repeated call) are skipped.
-- KEYS[1] prefix
-- ARGV    2 largest log (bytes)  3.. groups: id, fence, number of the first event, count, the events
-- returns {id, verdict, id, verdict, ...} of the jobs that must stop: fenced, cancel or full
-- include: base
-- include: log
local stop, copies, at = {}, {}, 3
while at <= #ARGV do
  local id, fence, number, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local row = redis.call('HMGET', job_key(id), 'status', 'fence', 'cancel', 'last', 'subscribers', 'bytes')
  local verdict = nil
  if row[1] ~= 'running' or row[2] ~= fence then
    verdict = 'fenced'
  elseif row[3] == '1' then
    verdict = 'cancel'
  else
    local last, bytes, lines = tonumber(row[4]), tonumber(row[6]), {}
    for offset = 0, count - 1 do
      local event = ARGV[at + 4 + offset]
      if number + offset > last then
        last, bytes = number + offset, bytes + #event
        append_event(id, last, event)
        lines[#lines + 1] = id .. ' ' .. text(last) .. ' ' .. event
      end
    end
    redis.call('HSET', job_key(id), 'last', text(last), 'bytes', text(bytes))
    if #lines > 0 and row[5] and row[5] ~= '' then
      local copy = copies[row[5]]
      if copy then copy[#copy + 1] = table.concat(lines, '\n')
      else copies[row[5]] = { table.concat(lines, '\n') } end
    end
    if bytes > tonumber(ARGV[2]) then verdict = 'full' end
  end
  if verdict then stop[#stop + 1] = id; stop[#stop + 1] = verdict end
  at = at + 4 + count
end
for subscribers, lines in pairs(copies) do publish(subscribers, table.concat(lines, '\n')) end
return stop
