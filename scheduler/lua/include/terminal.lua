-- End a job; every end goes through this function. In one step: leave the queue, free the slot, delete
-- lease and deadline, settle the usage, append and publish the terminal event.
--
-- outcome: { code, message, finish_reason, usage, tokens }, all optional; usage is JSON text, tokens its sum.
-- Returns the model to dispatch for, or nil when the job had ended already.
local function finish(id, status, outcome)
  local key = job_key(id)
  local was, model, tenant, priority, replica, last, subscribers, admitted_us, claimed_us, retention_s, store,
    weight, cost =
    read_fields(key, 'status', 'model', 'tenant', 'priority', 'replica', 'last', 'subscribers', 'admitted_us',
      'claimed_us', 'retention_s', 'store', 'weight', 'cost')
  if not was or TERMINAL[was] then return nil end
  if was == 'queued' then leave_queue(id, model, priority, tenant) end
  if replica then redis.call('SREM', slots_key(replica), id) end
  redis.call('ZREM', P .. 'leases', id)
  redis.call('ZREM', P .. 'deadlines', id)
  local tokens = outcome.tokens or (was == 'dispatched' and 0) -- a job that never ran costs nothing
  if was ~= 'queued' and tokens then
    settle_usage(model, tenant, tonumber(weight), tokens - tonumber(cost))
  end

  local admitted, claimed = tonumber(admitted_us), tonumber(claimed_us)
  local parts = { '{"t":"end","status":"', status, '"' }
  for _, field in ipairs({ 'finish_reason', 'code', 'message' }) do
    if outcome[field] and outcome[field] ~= '' then
      parts[#parts + 1] = ',"' .. field .. '":' .. cjson.encode(outcome[field])
    end
  end
  if outcome.usage and outcome.usage ~= '' then parts[#parts + 1] = ',"usage":' .. outcome.usage end
  parts[#parts + 1] = ',"queue_ms":' .. text(math.floor(((claimed or NOW) - admitted) / 1000))
  parts[#parts + 1] = ',"run_ms":' .. text(claimed and math.floor((NOW - claimed) / 1000) or 0) .. '}'
  local event, number = table.concat(parts), tonumber(last) + 1
  append_event(id, number, event)
  publish(subscribers, id .. ' ' .. text(number) .. ' ' .. event)

  redis.call('HSET', key, 'status', status, 'ended_us', text(NOW), 'last', text(number))
  if store ~= '1' then redis.call('HDEL', key, 'generation', 'echo') end
  redis.call('EXPIRE', key, retention_s)
  redis.call('EXPIRE', log_key(id), retention_s)
  return model
end
