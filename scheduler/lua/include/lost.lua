-- What becomes of a ticket whose replica or worker is gone: back into line once when nothing was said yet,
-- else it fails. Nothing that a client may have read is ever said twice.
local MOST_ATTEMPTS = 2

local function requeue(id)
  local row = redis.call('HMGET', ticket_key(id), 'model', 'band', 'tenant', 'admitted_us', 'replica', 'weight', 'cost')
  redis.call('SREM', slots_key(row[5]), id)
  redis.call('ZREM', P .. 'leases', id)
  redis.call('HDEL', ticket_key(id), 'replica', 'worker', 'fence', 'claimed_us')
  redis.call('HSET', ticket_key(id), 'status', 'queued')
  charge(row[1], row[3], tonumber(row[6]), -tonumber(row[7]))
  join_line(id, row[1], row[2], row[3], tonumber(row[4]))
end

-- Returns the model whose line changed, or nil.
local function lose(id, code, message)
  local row = redis.call('HMGET', ticket_key(id), 'status', 'last', 'attempts', 'cancel', 'model')
  if not row[1] or TERMINAL[row[1]] or row[1] == 'queued' then return nil end
  if row[4] == '1' then return finish(id, 'cancelled', { code = 'cancelled' }) end
  if row[2] == '0' and tonumber(row[3]) < MOST_ATTEMPTS then
    requeue(id)
    return row[5]
  end
  return finish(id, 'failed', { code = code, message = message })
end
