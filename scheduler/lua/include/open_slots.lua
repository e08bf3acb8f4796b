-- The slots of a model that jobs can be dispatched to, for scripts that explain the queue. `@slots` also counts the free
-- slots of replicas that accept no jobs: of a worker that drains, and of a model that is not loaded.

-- Return the slots without these; 0 when no replica accepts jobs. The commands grow with the replicas, and only
-- while some of them accept none.
local function open_slots(model)
  local ready, slots = P .. 'ready:' .. model, read_usage(model).values['@slots'] or 0
  local accepting = redis.call('ZCARD', ready)
  if accepting == 0 then return 0 end
  if accepting == redis.call('SCARD', P .. 'replicas:' .. model) then return slots end
  for _, replica in ipairs(redis.call('SMEMBERS', P .. 'replicas:' .. model)) do
    local state, count = read_fields(replica_key(replica), 'state', 'slots')
    if state == 'up' and not redis.call('ZSCORE', ready, replica) then
      slots = slots - math.max(0, tonumber(count) - redis.call('HLEN', slots_key(replica)))
    end
  end
  return math.max(0, slots)
end
