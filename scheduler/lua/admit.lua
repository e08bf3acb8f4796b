-- Admit a request: queue it, or return why it is refused. Then dispatch the next job if a slot is free.
-- KEYS[1] prefix
-- ARGV    2 id  3 tenant  4 weight  5 model  6 priority  7 dialect  8 generation (JSON)  9 echo (JSON)
--         10 subscriber or ''  11 store 0|1  12 retention of the ended job (s)  13 cost (tokens, estimated)
--         14 longest wait (us)  15 longest queue of the model  16 longest queue of the tenant
--         17 idempotency key (hashed) or ''  18 hash of the body  19 lifetime of the key (s)
-- returns {ok, id, depth} | {replayed, id} | {conflict} | {state, state, code of its failure}
--         | {full, depth, average wait (ms)} | {tenant_full, depth, average wait (ms)}
-- include: base
-- include: log
-- include: queue
-- include: dispatch
local id, tenant, weight, model, priority = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

-- the same Idempotency-Key as an earlier request?
local idempotency = ARGV[17] ~= '' and P .. 'idempotency:' .. tenant .. ':' .. ARGV[17]
if idempotency then
  local earlier_id, earlier_body = read_fields(idempotency, 'id', 'body')
  if earlier_id and earlier_body ~= ARGV[18] then return { 'conflict' } end
  if earlier_id then return { 'replayed', earlier_id } end
end
-- a repeated call (a retry after a lost reply) admits one job
if redis.call('EXISTS', job_key(id)) == 1 then return { 'replayed', id } end

local state, wait_ms, failure_code = read_fields(model_key(model), 'state', 'wait_ms', 'code')
if state ~= 'loaded' then return { 'state', state or 'unloaded', failure_code or '' } end

-- a rate limit of the tenant would be checked here: after the model's state, before the queue, in this call

local depth = redis.call('ZCARD', P .. 'waiting:' .. model)
if depth > 0 or not least_loaded_replica(model) then
  if depth >= tonumber(ARGV[15]) then return { 'full', depth, wait_ms or '0' } end
  local own = 0
  for _, name in ipairs(PRIORITIES) do own = own + redis.call('ZCARD', queue_key(model, name, tenant)) end
  if own >= tonumber(ARGV[16]) then return { 'tenant_full', own, wait_ms or '0' } end
end

redis.call('HSET', job_key(id), 'status', 'queued', 'tenant', tenant, 'weight', weight, 'model', model,
  'priority', priority, 'dialect', ARGV[7], 'generation', ARGV[8], 'echo', ARGV[9], 'subscribers', ARGV[10],
  'store', ARGV[11], 'retention_s', ARGV[12], 'cost', ARGV[13], 'max_wait_us', ARGV[14],
  'admitted_us', text(NOW), 'attempts', '0', 'last', '0', 'bytes', '0')
redis.call('ZADD', P .. 'deadlines', text(NOW + tonumber(ARGV[14])), id)
if idempotency then
  redis.call('HSET', idempotency, 'id', id, 'body', ARGV[18])
  redis.call('EXPIRE', idempotency, ARGV[19])
end
join_queue(id, model, priority, tenant, NOW)
dispatch(model)
return { 'ok', id, redis.call('ZCARD', P .. 'waiting:' .. model) }
