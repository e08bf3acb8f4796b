-- Included first: key prefix, key names, numbers as text, fields of hashes, the value of a slot.
-- KEYS[1] is the prefix of all keys ("{stoker}:"; its hash tag keeps them in one slot of a cluster).
local P = KEYS[1]

-- A number without a fraction; Redis does not read the negative zero of Lua.
local function text(number)
  local digits = string.format('%.0f', number)
  return digits == '-0' and '0' or digits
end

local function job_key(id) return P .. 'job:' .. id end
local function log_key(id) return P .. 'log:' .. id end
local function queue_key(model, priority, tenant)
  return P .. 'queue:' .. model .. ':' .. priority .. ':' .. tenant
end
local function fair_share_key(model, priority) return P .. 'fair_share:' .. model .. ':' .. priority end
local function slots_key(replica) return P .. 'slots:' .. replica end
local function model_key(model) return P .. 'model:' .. model end
local function replica_key(replica) return P .. 'replica:' .. replica end
local function warm_key(replica, priority) return P .. 'warm:' .. replica .. ':' .. priority end
local function claims_key(incarnation) return P .. 'claims:' .. incarnation end
local function cancelled_key(worker) return P .. 'cancelled:' .. worker end
local function tokens_key(tenant) return P .. 'tokens:' .. tenant end
local function proposal_key(id) return P .. 'proposal:' .. id end
local function conversation_key(id) return P .. 'conversation:' .. id end
local function person_conversations_key(tenant, person) return P .. 'person_conversations:' .. tenant .. ':' .. person end
local function resumable_key(tenant, hash) return P .. 'resumable:' .. tenant .. ':' .. hash end
local function worker_key(worker) return P .. 'worker:' .. worker end

-- Return the values of some fields of a hash; false for a field that is missing.
local function read_fields(key, ...) return unpack(redis.call('HMGET', key, ...)) end

-- The value of a running job's slot: all that a step has to know of it. `check_run` reads it.
local function slot_value(fence, subscribers, cancel)
  return (cancel == '1' and 'cancel ' or '') .. fence .. ' ' .. (subscribers or '')
end
