-- include: store/counters
-- include: store/change_feed
-- include: governance/audit
-- include: fleet/dynamic_models
-- include: fleet/scaling
-- The state of a model and of its operations. Every change of a model's state goes through
-- `set_model_state`, which also appends it to the stream `changes`.
--
-- Model states: unloaded, loading, loaded, unloading, failed (drawn in fleet/README.md).
-- failure: { code, message }, or nil.
-- Let the next worker that asks look for models to recover, although another one looked a moment ago.
local function make_recovery_due() redis.call('DEL', P .. 'recovery_looked_at') end

-- Forget the crashes of a model, after a load or unload by an operator; no restart is due any more.
local function forget_crashes(model)
  redis.call('DEL', P .. 'crashes:' .. model, P .. 'suspects:' .. model)
  redis.call('HDEL', model_key(model), 'crashed', 'restart_us')
end

local function set_model_state(model, state, failure)
  local key = model_key(model)
  local was, operation = read_fields(key, 'state', 'operation')
  redis.call('HSET', key, 'state', state, 'changed_us', text(NOW))
  -- a restart is due for the state that the crash led to; `leaving` counts replicas of a loaded model
  redis.call('HDEL', key, 'crashed', 'restart_us', 'leaving')
  if state ~= 'loading' then redis.call('ZREM', P .. 'evicting', model) end
  if state ~= 'loaded' then redis.call('DEL', P .. 'engine_properties:' .. model) end
  if state == 'loaded' then
    redis.call('ZREM', P .. 'demand', model)
    redis.call('HDEL', key, 'load_failures', 'load_retry_us', 'leaves_for', 'return_paid', 'demand_note')
  end
  if state == 'failed' or state == 'unloaded' then make_recovery_due() end
  if state == 'unloaded' and redis.call('HGET', key, 'wanted') == '0' then remove_dynamic_model(model) end
  if state == 'failed' then redis.call('HSET', key, 'code', failure.code, 'last_error', failure.message) end
  append_change('model', model, 'was', was or 'unloaded', 'state', state, 'at_us', text(NOW), 'operation', operation or '',
    'code', failure and failure.code or '', 'message', failure and failure.message or '')
end

-- Requests wait for the model no longer, since it failed. It is loaded on demand again after a pause of 5 s to 10 minutes
-- (docs/scheduling.md), which doubles with each further failure, and with each crash within the window of `restart`. A
-- load by an operator ends it, and so does one that succeeds.
local function pause_demand(model)
  local key = model_key(model)
  redis.call('ZREM', P .. 'demand', model)
  redis.call('HDEL', key, 'demand_note')
  local failures = redis.call('HINCRBY', key, 'load_failures', 1) + redis.call('ZCARD', P .. 'crashes:' .. model)
  redis.call('HSET', key, 'load_retry_us', text(NOW + math.min(5 * 2 ^ (failures - 1), 600) * 1000000))
end

-- Update the average duration of a model's loads or unloads: each new one counts one third.
local function update_average_duration(model, kind, took_us)
  local field, took = kind .. '_ms', took_us / 1000
  local before = tonumber(redis.call('HGET', model_key(model), field)) or took
  redis.call('HSET', model_key(model), field, text(before * 2 / 3 + took / 3))
end

-- List an operation in `operations`, by the time of its beginning. Entries outlive their rows, and each beginning removes
-- up to two of them; of too many operations the oldest one that has ended is not listed any more.
local function list_operation(id)
  local MAX_LISTED, LISTED_S = 10000, 2 * 86400
  local key = P .. 'operations'
  redis.call('ZADD', key, text(NOW), id)
  redis.call('EXPIRE', key, LISTED_S)
  for _, oldest in ipairs(redis.call('ZRANGE', key, 0, 1)) do
    if redis.call('EXISTS', P .. 'operation:' .. oldest) == 0 then redis.call('ZREM', key, oldest) end
  end
  if redis.call('ZCARD', key) <= MAX_LISTED then return end
  local listed = redis.call('ZRANGE', key, 0, 199) -- fewer are open: 100 flushes, and two operations of a model
  local removed = listed[1]
  for _, oldest in ipairs(listed) do
    local row = P .. 'operation:' .. oldest
    if redis.call('EXISTS', row) == 0 or redis.call('HEXISTS', row, 'finished_us') == 1 then
      removed = oldest
      break
    end
  end
  redis.call('ZREM', key, removed)
end

-- The operation of a load keeps the override that was asked for, which the model has in force only while it is loaded.
-- Only loads and unloads change a model's state, and are its latest operation; a flush may be of no single model ('').
-- `authorization`: of the caller, see include/authorize; its part `audit` is recorded with the begin and the end.
-- `subject`: what the audit records name, if that is not the model.
local function begin_operation(id, kind, model, status, stage, replicas, authorization, subject)
  local key = P .. 'operation:' .. id
  local expected, override = read_fields(model_key(model), kind .. '_ms', 'override')
  if kind == 'load' or kind == 'unload' then redis.call('HSET', model_key(model), 'operation', id) end
  redis.call('HSET', key, 'kind', kind, 'model', model, 'status', status, 'stage', stage, 'progress', '0',
    'replicas', replicas, 'created_us', text(NOW), 'override', kind == 'load' and override or '',
    'authority', cjson.encode(authorization.audit))
  if expected then redis.call('HSET', key, 'expected_ms', expected) end
  redis.call('EXPIRE', key, 86400)
  list_operation(id)
  if subject then redis.call('HSET', key, 'subject', subject) end
  if kind == 'load' then redis.call('HSET', key, 'definition', authorization.definition or '') end
  append_audit(authorization.audit, kind, subject or model, 'begun',
    { operation = id, definition = authorization.definition })
end

-- Add to the progress of an operation what one of its replicas progressed (0 to 1): the mean over its replicas.
local function add_progress(id, amount)
  local key = P .. 'operation:' .. id
  local sum, count = read_fields(key, 'progress_sum', 'replicas')
  sum = (tonumber(sum) or 0) + amount
  redis.call('HSET', key, 'progress_sum', sum, 'progress', string.format('%.3f', sum / tonumber(count)))
end

-- Does nothing to an operation that has ended. `by`: who cancelled it; else the end is recorded with the authority of
-- its begin.
local function end_operation(id, status, failure, by)
  local key = P .. 'operation:' .. id
  local kind, model, finished_us, began_us, authority, subject, grows =
    read_fields(key, 'kind', 'model', 'finished_us', 'began_us', 'authority', 'subject', 'grows')
  if finished_us or not kind then return end
  redis.call('HSET', key, 'status', status, 'finished_us', text(NOW), 'stage', status)
  local label = model_label(model)
  add_to_counter('operations ' .. kind .. ' ' .. label .. ' ' .. status)
  if failure then
    redis.call('HSET', key, 'error', failure.message, 'code', failure.code)
    if grows then -- the number of replicas is as before, and the next one follows after a pause, unless a worker was lost
      if failure.code ~= 'load_interrupted' then redis.call('HSET', model_key(model), 'growth_failed_us', text(NOW)) end
      change_wanted(model, -1, 'no further replica was added (' .. failure.message .. ')', id)
    end
  else
    redis.call('HSET', key, 'progress', '1')
    if began_us then
      update_average_duration(model, kind, NOW - tonumber(began_us))
      add_to_counter('operation_time ' .. kind .. ' ' .. label .. ' count')
      add_to_counter('operation_time ' .. kind .. ' ' .. label .. ' sum', NOW - tonumber(began_us))
    end
  end
  redis.call('EXPIRE', key, 86400)
  if authority then
    append_audit(by or cjson.decode(authority), kind, subject or model, status,
      { operation = id, code = failure and failure.code, message = failure and failure.message })
  end
end
