-- How fast the slots of a model are freed while jobs wait for them, and how long it takes to serve a queue.
--
-- `served:<model>` has `@run_ms`, the average time for which a job holds its slot: of the jobs that ended while others
-- waited, since only then it matters, and the hash is written anyway.

-- Count the time (ms) for which an ended job held its slot: one fifth of the average.
local function note_run_time(model, tenant, run_ms)
  if not next(waiting_priorities(model)) then return end
  local usage = read_usage(model, tenant)
  local average = usage.values['@run_ms'] or run_ms
  set_usage(usage, '@run_ms', math.floor(average * 0.8 + run_ms * 0.2))
end

-- Return the time (ms) in which so many waiting jobs get slots, at least one; nil while it is not known.
local function time_to_serve(run_ms, slots, jobs)
  run_ms = tonumber(run_ms)
  if not run_ms or slots == 0 then return nil end
  return math.ceil(math.max(jobs, 1) * run_ms / slots)
end
