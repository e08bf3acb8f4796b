-- The choice of the next job of a model, from numbers that its caller has read: dispatch chooses by it, and so does the
-- prediction of the order (`fair_order`). First a priority, then a tenant of that priority.
--
-- A tenant is a table with these fields: `name`; `weight`; `running`, how many of its jobs run on the model; `bound`, the
-- most that it may run at once, or 0; `bounded`, how many of all models count for that. A choice sets `may_take`: whether it
-- may take a slot.

-- A lower priority that was skipped MAX_SKIPS times while it had jobs goes next: otherwise a busy higher one would starve
-- it.
local MAX_SKIPS = { high = 0, high_background = 4, normal = 4, normal_background = 4, low = 16 }

-- So many tenants of a priority are compared at a time, those first that were served least. To read what one of them
-- runs costs as much as three commands.
local TENANTS_COMPARED = 16

-- Whether so many running jobs are all that a tenant may have. Jobs from before it had a bound count in `running` only.
local function reaches_bound(bound, bounded, running) return bound > 0 and math.max(bounded, running) >= bound end

-- Return which slots are kept for tenants that run nothing on the model, from its fields of `served:<model>`: {all, whether
-- no other slots are free than those of the reserve; last, whether no others than those of the background reserve; held,
-- whether background jobs hold all others, at least one}.
local function kept_slots(values)
  local slots, running, background = values['@slots'] or 0, values['@running'] or 0, values['@background'] or 0
  local one_in, count = values['@reserve'] or 0, values['@background_reserve'] or 0
  return {
    all = one_in > 0 and slots - running <= math.floor(slots / one_in),
    last = count > 0 and slots - running <= count,
    held = count > 0 and background >= math.max(1, slots - count),
  }
end

local function is_due(priority, skips) return (skips or 0) >= MAX_SKIPS[priority] end

-- Return why a tenant may take no slot for a job of this priority: 'max_running', 'reserve' or 'background_reserve'; nil
-- when it may. kept: which slots are kept (`kept_slots`); skips: how often the priority was skipped, nil when no job of it
-- waits. A background priority that is due may take the last free slots, so that it is not starved, but not more slots in
-- all than it may hold.
local function obstacle(tenant, priority, kept, skips)
  if reaches_bound(tenant.bound, tenant.bounded, tenant.running) then return 'max_running' end
  if tenant.running == 0 then return nil end
  if kept.all then return 'reserve' end
  if IS_BACKGROUND[priority] and (kept.held or kept.last and not is_due(priority, skips)) then
    return 'background_reserve'
  end
  return nil
end

-- Return how often a waiting priority was skipped after the choice of another, or of itself.
local function skips_after(priority, chosen, skips) return priority == chosen and 0 or skips + 1 end

-- Return the place of the first of these tenants that may take a slot and does not run more than its share: no other one
-- of them would, with one job more, still run at most as many for its weight. Returns the jobs for its weight from which
-- on a tenant is passed over, too, and the place of the first that may take a slot; nil when none may.
local function first_within_share(tenants, priority, kept, skips)
  local least, lowest = math.huge, nil
  for place, tenant in ipairs(tenants) do
    tenant.may_take = not obstacle(tenant, priority, kept, skips)
    if tenant.may_take then
      lowest = lowest or place
      least = math.min(least, (tenant.running + 1) / tenant.weight)
    end
  end
  for place, tenant in ipairs(tenants) do
    if tenant.may_take and tenant.running / tenant.weight < least then return place, least, lowest end
  end
  return nil
end

-- Choose the tenant that goes next.
-- skips: how often each priority with waiting jobs was skipped. read(priority, first, last): returns the tenants at these
-- places, from 1 on, those first that were served least.
-- Returns nil when no tenant may take a slot, else {priority, tenant, place; share, the jobs for its weight from which on a
-- tenant is passed over; compared, the tenants that were compared; lowest, the first of them that may take a slot; is_alone,
-- whether no other tenant waits in this priority}.
local function choose_tenant(skips, kept, read)
  local order = {}
  for _, priority in ipairs(PRIORITIES) do
    local count = skips[priority]
    if count then table.insert(order, is_due(priority, count) and 1 or #order + 1, priority) end
  end
  for _, priority in ipairs(order) do
    local first = 1
    repeat
      local tenants = read(priority, first, first + TENANTS_COMPARED - 1)
      local place, share, lowest = first_within_share(tenants, priority, kept, skips[priority])
      if place then
        return { priority = priority, tenant = tenants[place], place = first + place - 1, share = share,
          compared = tenants, lowest = tenants[lowest], is_alone = first == 1 and #tenants == 1 }
      end
      first = first + TENANTS_COMPARED
    until #tenants < TENANTS_COMPARED
  end
  return nil
end
