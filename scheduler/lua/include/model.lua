-- A model's state: the one place where it changes, and where everybody learns that it did.
-- Model states: unloaded, loading, loaded, unloading, failed (drawn in fleet/README.md).
-- why: { code, message } of a failure, or nothing. Who follows `changes` reads it after its last entry.
local CHANGES_KEPT = 1000

local function set_model_state(model, state, why)
  local key = model_key(model)
  local row = redis.call('HMGET', key, 'state', 'operation')
  redis.call('HSET', key, 'state', state, 'changed_us', text(NOW))
  if state ~= 'loading' then redis.call('ZREM', P .. 'evicting', model) end
  if state == 'failed' then redis.call('HSET', key, 'code', why.code, 'last_error', why.message) end
  redis.call('XADD', P .. 'changes', 'MAXLEN', '~', CHANGES_KEPT, '*', 'model', model, 'was', row[1] or 'unloaded',
    'state', state, 'at_us', text(NOW), 'operation', row[2] or '', 'code', why and why.code or '',
    'message', why and why.message or '')
end

-- How long such an operation took before, as far as anybody knows: a third from each new one.
local function update_average_duration(model, kind, took_us)
  local name, took = kind .. '_ms', took_us / 1000
  local before = tonumber(redis.call('HGET', model_key(model), name)) or took
  redis.call('HSET', model_key(model), name, text(before * 2 / 3 + took / 3))
end

local function begin_operation(id, kind, model, status, stage, replicas)
  local key = P .. 'operation:' .. id
  redis.call('HSET', model_key(model), 'operation', id)
  redis.call('HSET', key, 'kind', kind, 'model', model, 'status', status, 'stage', stage, 'progress', '0',
    'replicas', replicas, 'created_us', text(NOW))
  local expected = redis.call('HGET', model_key(model), kind .. '_ms')
  if expected then redis.call('HSET', key, 'expected_ms', expected) end
  redis.call('EXPIRE', key, 86400)
end

-- Does nothing to one that has ended. why: { code, message } when it failed, else nothing.
local function end_operation(id, status, why)
  local key = P .. 'operation:' .. id
  local row = redis.call('HMGET', key, 'kind', 'model', 'finished_us', 'began_us')
  if row[3] or not row[1] then return end
  redis.call('HSET', key, 'status', status, 'finished_us', text(NOW), 'stage', status)
  if why then redis.call('HSET', key, 'error', why.message, 'code', why.code)
  else
    redis.call('HSET', key, 'progress', '1')
    if row[4] then update_average_duration(row[2], row[1], NOW - tonumber(row[4])) end
  end
  redis.call('EXPIRE', key, 86400)
end
