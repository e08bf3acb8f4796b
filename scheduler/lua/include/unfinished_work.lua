-- Record work that a call leaves for `expire`, as a JSON array; `unfinished` has them by the time (us) at which they are due:
--   ["slots", replica, code, message]: the replica is gone: its jobs are requeued, or fail with this code
--   ["waiting", model, code, message]: the model will not be served: its waiting jobs fail with this code
--   ["cancel", model, tenant, time (us)]: the tenant's jobs that were admitted until then are cancelled
--   ["dispatch", model]: jobs may wait for the model while it has free slots, or the wait of a delayed job is over
local function record_unfinished_at(due_us, ...)
  redis.call('ZADD', P .. 'unfinished', 'LT', text(due_us), cjson.encode({ ... }))
end

local function record_unfinished(...) record_unfinished_at(NOW, ...) end
