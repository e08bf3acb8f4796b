-- The texts of requests, beside their records in the history (docs/decisions/0062-texts-of-requests.md): a field of the same
-- hash, whose bytes count with those of the records. Ids have no space, so it is no id of a request.
local function text_field(id) return 'text ' .. id end

-- Delete fields with texts; returns whether one was there.
local function delete_texts(tenant, fields)
  local RECORD_BYTES = 250 -- also in include/request_history
  local key, bytes = P .. 'requests:' .. tenant, 0
  for _, field in ipairs(fields) do
    local length = redis.call('HSTRLEN', key, field)
    if length > 0 then bytes = bytes + length + RECORD_BYTES end
    redis.call('HDEL', key, field)
  end
  if bytes == 0 then return false end
  for _, name in ipairs({ tenant, '@all' }) do redis.call('HINCRBY', P .. 'request_bytes', name, text(-bytes)) end
  return true
end
