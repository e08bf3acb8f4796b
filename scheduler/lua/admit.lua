-- Admit a request: run it at once if a slot is free that nobody waits for, else queue it; or return why it is refused.
-- A refused request counts for no limit.
-- Called as a function of Redis (store/function_library.py).
-- KEYS[1] prefix
-- args: id tenant weight model priority dialect generation echo subscriber store retention_s cost max_wait_us
-- args: max_run_us max_depth max_tenant_depth idempotency_key body_hash key_ttl_s max_tenant_bytes max_bytes
-- args: unknown_name time_limit_us reserve_one_in max_running max_requests request_window_us max_tokens token_window_us receipt batch_fence replaces
-- args: prompt_bytes background_reserve resume_hash resume_models resume_id detached wanted_replica load_on_demand prefix_keys deficit cached_weight may_grow client key budget_tokens budget_us
-- args: prompt_text person
--   generation, echo: JSON; subscriber: '' for none; store: 0|1; cost: tokens, estimated
--   retention_s: of the ended job; max_wait_us, max_run_us: its longest wait and run
--   max_depth, max_tenant_depth: longest queue of the model, and of the tenant in it
--   idempotency_key: hashed, or ''; body_hash: what the key stands for; key_ttl_s: its lifetime
--   max_tenant_bytes, max_bytes: most bytes of the tenant, and in all
--   unknown_name: of a caller that is no tenant, or '': it has limits of its own
--   time_limit_us: the request's own limit to its wait and its run together, or ''
--   reserve_one_in: one slot in so many is reserved, or 0; max_running: most running jobs of the tenant, or 0
--   max_requests, max_tokens: most of the tenant within the window that follows, or 0
--   receipt: SHA-256 of the request's body (hex), of a tenant with receipts, or ''
--   batch_fence: fence of the runner of the batches, of a batch's line, or ''
--   prompt_bytes: least size of the rendered prompt, of a large one; else 0
--   background_reserve: so many slots are kept from background jobs, or 0
--   replaces: the job whose idempotency key this one may take, or ''
--   resume_id: conversation id by which its stream can be read again, or ''; resume_hash: of the id
--   resume_models: hash of the id without `::<model>`, or - for one that names no model
--   detached: 1 if it goes on when its client is gone, else 0
--   wanted_replica: of a job about the state in one replica, or ''
--   load_on_demand: 1 if the job waits in the queue while its model is loaded for it, else 0
--   prefix_keys: `field tag tokens` of each prefix of its prompt (`include/prefixes`), or ''
--   deficit: of the model, for `include/warm_jobs`, or ''; cached_weight: what a token of a reused prefix counts
--   may_grow: 1 if the replicas of the model follow the load, else 0
--   client: what the history of requests keeps of its headers (JSON), or ''
--   key: id of the tenant's API key, for its usage, or ''
--   budget_tokens, budget_us: tokens, and time in slots, of the tenant's ended jobs in a month, at which it is refused; or 0
--   prompt_text: what the history keeps of the prompt (JSON), or '' if it keeps neither this nor the answer
--   person: id of the person who made it, or ''
-- returns {ok, id, depth} | {ok, id, depth, load} when somebody has to load the model for it | {replayed, id} | {conflict} | {fenced}
--         | {state, state, code of its failure, seconds until its restart or ''}
--         | {cooling, code of its failure, seconds until it may be loaded on demand again}
--         | {budget_used, tokens | gpu_s, budget, used (tokens; us), end of the month (us), the time now}
--         | {requests_limited | tokens_limited, time at which it would be admitted (us; 0: never), the time now}
--         | {full, depth, average wait (ms), time (ms) in which these jobs get slots or ''} | {tenant_full, the same}
--         | {prompt_too_long, tokens that the prompt has at least, tokens of one request}
--         | {bytes, bytes in all} | {tenant_bytes, bytes of the tenant} | {tenant_share, the same, bytes that are free}
--         for a tenant with a limit, a list follows: of requests the most, those that remain, and the time until all
--         are free again (us), then the same of tokens
-- include: store/base
-- include: scheduler/log
-- include: scheduler/queue
-- include: scheduler/dispatch
-- include: scheduler/bytes
-- include: scheduler/service_rate
-- include: scheduler/token_parts
-- include: scheduler/budget
local id, tenant, weight, model, priority, cost = args.id, args.tenant, args.weight, args.model, args.priority, args.cost
local max_wait_us, max_run_us, generation = tonumber(args.max_wait_us), tonumber(args.max_run_us), args.generation

-- The id of a line's job follows from the batch and the line, so that a line that has a job gets no second one; and a
-- runner that lost its lease, whose memory may be old, gets none for a line whose outcome is on disk already.
if args.batch_fence ~= '' and redis.call('GET', P .. 'batch_runner') ~= args.batch_fence then return { 'fenced' } end

local requests, tokens, account, count_name = nil, nil, tenant, nil
local reply = function(...) return { ... } end
local most_requests, most_tokens = tonumber(args.max_requests), tonumber(args.max_tokens)
if most_requests > 0 or most_tokens > 0 then -- most tenants do not need the functions that follow
-- include: scheduler/limits
  local request_window_us, token_window_us = tonumber(args.request_window_us), tonumber(args.token_window_us)
  account, count_name = account_of(tenant, args.unknown_name, math.max(request_window_us, token_window_us))
  if most_requests > 0 then
    local read = most_requests <= MAX_LOGGED and logged_requests or paced_requests
    requests = read(account, most_requests, request_window_us)
  end
  if most_tokens > 0 then tokens = counted_tokens(account, most_tokens, token_window_us, tonumber(cost)) end
  reply = function(...)
    local values = { ... }
    local most, remaining, reset_us = limit_state(requests)
    values[#values + 1] = { most, remaining, reset_us, limit_state(tokens) }
    return values
  end
end

-- the same Idempotency-Key as an earlier request?
local idempotency = args.idempotency_key ~= '' and P .. 'idempotency:' .. tenant .. ':' .. args.idempotency_key
if idempotency then
  local earlier_id, earlier_body = read_fields(idempotency, 'id', 'body')
  if earlier_id and earlier_body ~= args.body_hash then return reply('conflict') end
  if earlier_id then
    local status, cancel = read_fields(job_key(earlier_id), 'status', 'cancel')
    local is_stopping = status == 'running' and cancel == '1'
    -- a job that failed, was cancelled or is gone has no result: the request runs again
    if status and status ~= 'failed' and status ~= 'cancelled' and not is_stopping and earlier_id ~= args.replaces then
      return reply('replayed', earlier_id)
    end
  end
end
-- A repeated call (a retry after a lost reply) admits one job. An admission finds the earlier one by its deadline,
-- without a further command; a refusal looks for it.
local function refused(...)
  if redis.call('EXISTS', job_key(id)) == 1 then return reply('replayed', id) end
  return reply(...)
end

local state, failure_code, restart_us, load_retry_us, replicas_wanted =
  read_fields(model_key(model), 'state', 'code', 'restart_us', 'load_retry_us', 'wanted')
local waits_for_load = state ~= 'loaded' and args.load_on_demand == '1'
if waits_for_load and not restart_us and NOW < (tonumber(load_retry_us) or 0) and state ~= 'loading' then
  return refused('cooling', failure_code or '', text(math.ceil((tonumber(load_retry_us) - NOW) / 1000000)))
elseif state ~= 'loaded' and not waits_for_load then
  local restart_s = restart_us and text(math.max(0, math.ceil((tonumber(restart_us) - NOW) / 1000000)))
  return refused('state', state or 'unloaded', failure_code or '', restart_s or '')
end

local prompt_bytes = tonumber(args.prompt_bytes)
if prompt_bytes > 0 then -- one that cannot fit takes no slot, and costs no engine anything
  local context, longest = read_fields(model_key(model), 'context', 'longest_token')
  context, longest = tonumber(context or ''), tonumber(longest or '')
  local least = longest and math.floor(prompt_bytes / longest)
  if context and least and least >= context then return refused('prompt_too_long', least, context) end
end

local used_up = used_budget(tenant, tonumber(args.budget_tokens), tonumber(args.budget_us))
if used_up then return refused('budget_used', unpack(used_up)) end
if requests and requests.retry_us then return refused('requests_limited', requests.retry_us, NOW) end
if tokens and tokens.retry_us then return refused('tokens_limited', tokens.retry_us, NOW) end

local usage = read_usage(model, tenant)
set_usage(usage, tenant .. ':limits', weight .. ' ' .. args.max_running)
set_usage(usage, '@reserve', tonumber(args.reserve_one_in))
set_usage(usage, '@background_reserve', tonumber(args.background_reserve))
-- whether it matters what a replica has computed: also while only one of several is there
local compares_prefixes = args.deficit ~= '' and (waits_for_load or args.may_grow == '1' or (tonumber(replicas_wanted) or 0) > 1)
if compares_prefixes or usage.values['@deficit'] then
  set_usage(usage, '@deficit', compares_prefixes and tonumber(args.deficit) or '')
  set_usage(usage, '@cached_weight', tonumber(args.cached_weight))
end
local function has_free_slot() return (usage.values['@running'] or 0) < (usage.values['@slots'] or 0) end
local blocked_by, somebody_waits = obstacle_of(model, tenant, priority), next(waiting_priorities(model))
local may_run = not blocked_by
local replica, share, prefixes, depth = nil, nil, nil, 0
local has_keys = compares_prefixes and args.prefix_keys ~= '' and args.wanted_replica == ''
-- a slot that is free while jobs wait is one that none of them may take
if may_run and not (somebody_waits and (not has_free_slot() or next_in_queue(model))) then
  local has_equals, is_warm = false, false
  replica, share, has_equals = least_loaded_replica(model, nil, has_keys)
  if replica and args.wanted_replica ~= '' then replica, share = least_loaded_replica(model, args.wanted_replica) end
  prefixes = replica and has_keys and read_prefixes(model, args.prefix_keys)
  if prefixes then replica, share, is_warm = prefixes.warmest_replica(replica, share) end
  -- those that need no turn take none: else every second chat of a row would come to the same one of two replicas
  if prefixes and has_equals and not is_warm then replica = replica_in_turn(model, share) end
end
local run_by_us = args.time_limit_us ~= '' and NOW + tonumber(args.time_limit_us)
local latest_us = math.min(NOW + max_wait_us, run_by_us or math.huge)
local delay = prefixes and choose_delay(model, tenant, replica, prefixes, latest_us)
if somebody_waits or delay or has_delayed(model) then depth = redis.call('ZCARD', P .. 'waiting:' .. model) end
if delay and depth < math.min(tonumber(args.max_depth), tonumber(args.max_tenant_depth)) then replica = nil else delay = nil end
if not replica and not delay then
  local function refused_by_queue(reason, count)
    -- the tenant's bound was raised: its own jobs, which fill the queue, may take slots now
    if may_run and has_free_slot() and usage.changed[tenant .. ':limits'] then
      write_usage(model)
      record_unfinished('dispatch', model)
    end
    local time_ms = time_to_serve(model, usage.values['@slots'] or 0, count)
    return refused(reason, count, text(usage.values['@wait_ms'] or 0), time_ms and text(time_ms) or '')
  end
  if depth >= tonumber(args.max_depth) then return refused_by_queue('full', depth) end
  local own, longest = 0, tonumber(args.max_tenant_depth)
  if depth >= longest then
    for name in pairs(waiting_priorities(model)) do own = own + redis.call('ZCARD', queue_key(model, name, tenant)) end
    for _, job in ipairs(delayed_jobs(model)) do own = own + (job.tenant == tenant and 1 or 0) end
  end
  if own >= longest then return refused_by_queue('tenant_full', own) end
end

local size = #generation + #args.echo + #args.prompt_text
local all_bytes, tenant_bytes = read_fields(P .. 'bytes', '@all', tenant)
all_bytes, tenant_bytes = tonumber(all_bytes) or 0, tonumber(tenant_bytes) or 0
if tenant_bytes + size > tonumber(args.max_tenant_bytes) then return refused('tenant_bytes', tenant_bytes) end
local free_bytes = tonumber(args.max_bytes) - all_bytes
if size > free_bytes then return refused('bytes', all_bytes) end
-- so that some remain for a further tenant, however many hold what they may
if tenant_bytes + size > free_bytes then return refused('tenant_share', tenant_bytes, free_bytes) end

local deadline = NOW + (replica and max_run_us or max_wait_us)
deadline = text(run_by_us and math.min(run_by_us, deadline) or deadline)
if redis.call('ZADD', P .. 'deadlines', 'NX', deadline, id) == 0 then return reply('replayed', id) end
local bytes = size >= LARGE_BYTES and size or 0
count_bytes(tenant, bytes)
if requests then requests.take(id) end
if tokens then tokens.take() end
if count_name then count_name() end

local fields
if replica then
  local reuse = charge_run(model, tenant, priority, replica, prefixes, cost, weight, nil, nil, 0)
  fields = run_job(id, model, tenant, replica, share, '1', deadline, args.subscriber, generation, reuse)
else
  depth = depth + 1
  fields = { 'status', 'queued', 'attempts', '0', 'max_run_us', text(max_run_us) }
  if run_by_us then
    fields[#fields + 1] = 'run_by_us'
    fields[#fields + 1] = text(run_by_us)
  end
  if delay then
    fields[#fields + 1] = 'delayed'
    fields[#fields + 1] = delay_job(id, model, priority, tenant, weight, cost, NOW, nil, delay)
  else
    local warm = has_keys and join_warm(id, priority, tenant, read_prefixes(model, args.prefix_keys))
    if warm then
      fields[#fields + 1] = 'warm'
      fields[#fields + 1] = warm
    end
    join_queue(id, model, priority, tenant, NOW)
  end
  if waits_for_load then redis.call('ZADD', P .. 'demand', 'NX', text(NOW), model) end
  if blocked_by == 'max_running' then hold(model, tenant)
  elseif somebody_waits and not delay and has_free_slot() then record_unfinished('dispatch', model) end -- its tenant's limit may have been raised
end
if has_keys then -- for its dispatch, also after the loss of its replica
  fields[#fields + 1] = 'prefix_keys'
  fields[#fields + 1] = args.prefix_keys
end
write_usage(model)
if tokens then
  fields[#fields + 1] = 'token_window_us'
  fields[#fields + 1] = args.token_window_us
  if account ~= tenant then
    fields[#fields + 1] = 'account'
    fields[#fields + 1] = account
  end
end
if args.receipt ~= '' then
  fields[#fields + 1] = 'receipt'
  fields[#fields + 1] = args.receipt
end
if args.client ~= '' then
  fields[#fields + 1] = 'client'
  fields[#fields + 1] = args.client
end
if args.key ~= '' then
  fields[#fields + 1] = 'key'
  fields[#fields + 1] = args.key
end
if args.person ~= '' then
  fields[#fields + 1] = 'person'
  fields[#fields + 1] = args.person
end
if args.prompt_text ~= '' then
  for _, word in ipairs({ 'keeps_text', '1', 'prompt_text', args.prompt_text }) do fields[#fields + 1] = word end
end
if args.detached == '1' then
  fields[#fields + 1] = 'detached'
  fields[#fields + 1] = '1'
end
if args.wanted_replica ~= '' then
  fields[#fields + 1] = 'wanted_replica'
  fields[#fields + 1] = args.wanted_replica
end
local stream = args.resume_id ~= '' and table.concat({ args.resume_hash, args.resume_models, #args.echo, args.resume_id }, ' ')
if stream then
  fields[#fields + 1] = 'resumable'
  fields[#fields + 1] = stream
end
redis.call('HSET', job_key(id), 'tenant', tenant, 'weight', weight, 'model', model, 'priority', priority,
  'dialect', args.dialect, 'generation', generation, 'echo', args.echo, 'subscribers', args.subscriber,
  'store', args.store, 'retention_s', args.retention_s, 'cost', cost, 'max_wait_us', text(max_wait_us), 'admitted_us', text(NOW),
  'size', size, 'bytes', bytes, unpack(fields))
if idempotency then
  redis.call('HSET', idempotency, 'id', id, 'body', args.body_hash)
  redis.call('EXPIRE', idempotency, args.key_ttl_s)
end
if stream then -- a conversation has one live stream: the one before is cancelled
-- include: scheduler/cancel_job
  local earlier = redis.call('SET', resumable_key(tenant, args.resume_hash), id, 'GET')
  if earlier then
    redis.call('HDEL', job_key(earlier), 'resumable')
    cancel_job(earlier, read_job(earlier))
  elseif args.resume_models ~= '-' then
    redis.call('SADD', P .. 'resumable_models:' .. tenant .. ':' .. args.resume_models, args.resume_id)
  end
end
if waits_for_load and state ~= 'loading' and state ~= 'unloading' then return reply('ok', id, depth, 'load') end
return reply('ok', id, depth)
