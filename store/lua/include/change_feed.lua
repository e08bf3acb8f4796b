-- The stream `changes`, which `GET /v1/admin/events` follows: changes of models' states, of registered
-- models, of proposals and of alerts, in their order.
local MAX_CHANGES = 1000

-- Append an entry of these fields and values.
local function append_change(...)
  redis.call('XADD', P .. 'changes', 'MAXLEN', '~', MAX_CHANGES, '*', ...)
end
