-- How fast the slots of a model are freed while jobs wait for them, and how long it takes to serve a queue.
--
-- `served:<model>` has `@run_ms`, the average time for which a job holds its slot: of the jobs that ended while others
-- waited, since only then it matters, and the hash is written anyway; of all jobs where a model chooses jobs by what its
-- replicas have computed. A job that was cancelled or failed can only raise it. There it also has `@token_us`, the average time in which a replica computes a token of a prompt.

-- So many running jobs of a replica are looked at.
local MAX_SAMPLED = 16

-- Count the time (ms) for which an ended job held its slot: one fifth of the average. is_whole: else the run was cut (a
-- cancel, a time limit, a failure), so that its time is a lower bound, and can only raise the average.
local function note_run_time(model, tenant, run_ms, is_whole)
  local usage = read_usage(model, tenant)
  if not next(waiting_priorities(model)) and not tonumber(usage.values['@deficit'] or nil) then return end
  local before = usage.values['@run_ms']
  if not is_whole and run_ms <= (tonumber(before or nil) or math.huge) then return end
  set_usage(usage, '@run_ms', moving_average(before, run_ms))
end

-- Count the time (ms) from the claim of a job to its first output, in which so many tokens of its prompt were computed: up to
-- one fifth of the average, for a long one.
local function note_prompt_time(model, tokens, first_ms)
  local LEAST_COMPUTED = 256 -- with fewer, other things take most of the time
  local LONG, MOST_SHARE, MOST_GROWTH = 2000, 0.2, 2
  if not first_ms or tokens < LEAST_COMPUTED then return end
  local usage, value = read_usage(model), first_ms * 1000 / tokens
  local before = tonumber(usage.values['@token_us'] or nil) or value
  local share = MOST_SHARE * math.min(1, tokens / LONG)
  set_usage(usage, '@token_us', math.floor(before + share * (math.min(value, MOST_GROWTH * before) - before)))
end

-- Return for how long (ms) jobs hold their slots: the average of those that ended, or twice the mean age of those that
-- run, whichever is longer (a job that is observed at a random time has run for half of its length, on average); nil
-- while nothing runs and nothing has ended. Of the running jobs those of one replica are looked at: of this one, or of one of
-- those with the largest shares of taken slots.
local function run_time(model, replica)
  local run_ms = tonumber(read_usage(model).values['@run_ms'])
  replica = replica or redis.call('ZRANGE', P .. 'ready:' .. model, -1, -1)[1]
  local age_ms, count = 0, 0
  for _, id in ipairs(replica and redis.call('HRANDFIELD', slots_key(replica), MAX_SAMPLED) or {}) do
    local claimed_us = tonumber(redis.call('HGET', job_key(id), 'claimed_us'))
    if claimed_us then age_ms, count = age_ms + (NOW - claimed_us) / 1000, count + 1 end
  end
  if count == 0 then return run_ms end
  return math.floor(math.max(run_ms or 0, 2 * age_ms / count))
end

-- Return the time (ms) in which so many waiting jobs get slots, at least one; nil while it is not known.
local function time_to_serve(model, slots, jobs)
  local run_ms = slots > 0 and run_time(model)
  return run_ms and math.ceil(math.max(jobs, 1) * run_ms / slots) or nil
end
