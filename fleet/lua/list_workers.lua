#!lua flags=no-writes,allow-oom
-- Read a page of the workers, by name, with their replicas: those that are registered, those that were removed for
-- their silence within the last day, and those that an operator drains.
-- KEYS[1] prefix
-- args: after max_workers max_replicas only
--   after: the name after which the page begins, or ''; max_workers: of the page; max_replicas: of a worker
--   only: only the worker of this name, or ''
-- returns {time (us), 1 when more follow, else 0, {worker, end of its lease (us) or '', when it was lost (us) or '',
--         operator's drain (JSON) or '', promised memory (MiB), number of its replicas, {field, value, ...} of its
--         row, {replica, its model, state, measured memory (MiB) or '', memory that was promised to it (MiB) or '',
--         slots or '', slots taken, ready 0|1, stalled 0|1, its engine's report (JSON) or '', pid or '',
--         up since (us) or '', ...}, ...}}
-- include: store/base
-- include: fleet/placement
local LOST_SHOWN_US = 86400 * 1000000
local most, most_replicas = tonumber(args.max_workers), tonumber(args.max_replicas)
local ends, lost, drains, names, known = {}, {}, {}, {}, {}
local function add(values, flat)
  for at = 1, #flat, 2 do
    local name = flat[at]
    values[name] = flat[at + 1]
    if name > args.after and not known[name] and (args.only == '' or name == args.only) then
      known[name] = true
      names[#names + 1] = name
    end
  end
end
add(ends, redis.call('ZRANGE', P .. 'workers', 0, -1, 'WITHSCORES'))
add(lost, redis.call('ZRANGE', P .. 'lost_workers', text(NOW - LOST_SHOWN_US), '+inf', 'BYSCORE', 'WITHSCORES'))
add(drains, redis.call('HGETALL', P .. 'operator_drains'))
table.sort(names)
local stalled, promised, page = {}, promised_mib(''), {}
for _, replica in ipairs(redis.call('SMEMBERS', P .. 'stalled_replicas')) do stalled[replica] = true end

local function replicas_of(hosted)
  local answer = {}
  for at = 1, math.min(#hosted, most_replicas) do
    local replica = hosted[at]
    local model, state, memory_mib, need_mib, slots, engine, pid, up_us = read_fields(replica_key(replica), 'model',
      'state', 'memory_mib', 'need_mib', 'slots', 'engine', 'pid', 'up_us')
    local ready = model and redis.call('ZSCORE', P .. 'ready:' .. model, replica)
    for _, item in ipairs({ replica, model or '', state or '', memory_mib or '', need_mib or '', slots or '',
      redis.call('HLEN', slots_key(replica)), ready and 1 or 0, stalled[replica] and 1 or 0, engine or '', pid or '',
      up_us or '' }) do
      answer[#answer + 1] = item
    end
  end
  return answer
end

for at = 1, math.min(#names, most) do
  local name = names[at]
  local hosted = redis.call('SMEMBERS', P .. 'worker_replicas:' .. name)
  table.sort(hosted)
  local memory_id = redis.call('HGET', worker_key(name), 'memory_id')
  for _, item in ipairs({ name, ends[name] or '', lost[name] or '', drains[name] or '',
    promised[memory_id or ''] or 0, #hosted, redis.call('HGETALL', worker_key(name)), replicas_of(hosted) }) do
    page[#page + 1] = item
  end
end
return { text(NOW), #names > most and 1 or 0, page }
