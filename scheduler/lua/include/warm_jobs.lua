-- Waiting jobs a part of whose prompt a replica has in its cache: a slot that it frees is given to one of them, within
-- bounds, rather than to the first job of the tenant that goes next.
--
-- `warm:<replica>:<priority>` has them, scored by the time of their admission (us), earlier by one millisecond for each token
-- that is saved. A member is `<id> <mark> <tokens> <tenant>`; the job's field `warm` is `<replica> <mark> <tokens>`.
--
-- The bounds: the job's priority is the one that goes next; its tenant may take a slot, was served at most `@deficit`
-- tokens for its weight more than the tenant that goes next, and runs fewer than MORE_RUNS jobs more than its share; and the
-- first job of that tenant has not waited too long (`has_waited_long`).
-- include: scheduler/prefixes

local WARM_COMPARED = 32 -- members that are looked at for one slot

local function warm_member(id, warm, priority, tenant)
  local replica, rest = string.match(warm, '^(%S+) (.*)$')
  return warm_key(replica, priority), table.concat({ id, rest, tenant }, ' ')
end

-- List a job that joins the queue. Returns its field `warm`; nil when no replica is known to have much of its prompt.
local function join_warm(id, priority, tenant, prefixes)
  local TOKEN_US = 1000
  local replica, tokens, mark = prefixes.warmest_of_all()
  if not replica or tokens < LEAST_TOKENS then return nil end
  local warm = table.concat({ replica, text(mark), text(tokens) }, ' ')
  local key, member = warm_member(id, warm, priority, tenant)
  redis.call('ZADD', key, text(NOW - tokens * TOKEN_US), member)
  return warm
end

-- Remove a job that leaves the queue. warm: its field, or false.
local function leave_warm(id, warm, priority, tenant)
  if warm then redis.call('ZREM', warm_member(id, warm, priority, tenant)) end
end

-- Whether the first job of the tenant that goes next, admitted at this time (us), takes the slot in any case. wait_ms: the
-- average wait, or nil.
local function has_waited_long(admitted_us, wait_ms)
  local MIN_WAIT_US, WAIT_FACTOR = 1000000, 4
  return NOW - admitted_us > math.max(MIN_WAIT_US, WAIT_FACTOR * (wait_ms or 0) * 1000)
end

-- Whether a job of a tenant may go before the chosen one (`choose_tenant`). deficit: the most tokens; negative: only jobs
-- of the chosen tenant may.
local function may_go_before(choice, tenant, deficit)
  local MORE_RUNS = 4
  if tenant.name == choice.tenant.name then return true end
  return deficit >= 0 and tenant.may_take and tenant.score <= choice.tenant.score + deficit
    and (tenant.running - MORE_RUNS) / tenant.weight < choice.share
end

-- Return the first of a replica's members whose job may go before the chosen one: {id, tenant, tokens}; nil when none may.
-- gone: whether a job, by its id, has left the queue, or nil; dropped: called with each member whose prefix is not in the
-- cache any more, or nil.
local function first_warm(members, replica, choice, deficit, gone, dropped)
  local compared, looked_at = {}, 0
  for _, tenant in ipairs(choice.compared) do compared[tenant.name] = tenant end
  for _, member in ipairs(members) do
    local id, mark, tokens, name = string.match(member, '^(%S+) (%S+) (%S+) (.*)$')
    if looked_at < WARM_COMPARED and not (gone and gone[id]) then
      local tenant = compared[name]
      looked_at = looked_at + 1
      if not is_cached(replica, tonumber(mark)) then
        if dropped then dropped(member) end
      elseif tenant and may_go_before(choice, tenant, deficit) then
        return { id = id, tenant = tenant, tokens = tonumber(tokens) }
      end
    end
  end
  return nil
end

-- Return by how many tokens a tenant may go ahead of the tenant that goes next, whose first job was admitted at this time (us);
-- nil when that job takes the slot in any case.
local function deficit_before(model, admitted_us)
  local values = read_usage(model).values
  local deficit = tonumber(values['@deficit'] or nil)
  return deficit and not has_waited_long(admitted_us, values['@wait_ms']) and deficit or nil
end

-- Return the job that takes a slot of this replica before the chosen one (`first_warm`); nil: the chosen one takes it.
-- admitted_us: of the first job of the tenant that goes next.
local function next_warm(model, replica, choice, admitted_us)
  local deficit = deficit_before(model, admitted_us)
  if not deficit then return nil end
  local members = redis.call('ZRANGE', warm_key(replica, choice.priority), 0, WARM_COMPARED - 1)
  return first_warm(members, replica, choice, deficit, nil, function(member)
    redis.call('ZREM', warm_key(replica, choice.priority), member)
  end)
end
