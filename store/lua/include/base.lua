-- Included by every script: clock, fields of a job, fencing tokens, claim messages.
-- ARGV[1] (us) is added to Redis' clock: 0 in production; tests use it to move time.
-- include: store/keys
local clock = redis.call('TIME')
local NOW = clock[1] * 1000000 + clock[2] + tonumber(ARGV[1])

local JOB_FIELDS = { 'status', 'model', 'tenant', 'priority', 'weight', 'cost', 'admitted_us', 'claimed_us',
  'max_wait_us', 'attempts', 'replica', 'slots', 'worker', 'fence', 'cancel', 'subscribers',
  'store', 'retention_s', 'size', 'bytes', 'counted', 'token_window_us', 'account', 'resumable', 'warm', 'reuse', 'delayed',
  'dialect', 'load_us', 'moved_from', 'client', 'key', 'keeps_text', 'run_by_us', 'late' }
-- Return a job's fields, all but the texts of the client, in a table; `status` is false for an unknown job.
local function read_job(id)
  local values, job = redis.call('HMGET', job_key(id), unpack(JOB_FIELDS)), {}
  for at, field in ipairs(JOB_FIELDS) do job[field] = values[at] end
  return job
end

-- The priorities of a queue, in their order: the background jobs of a priority follow those that clients wait for. All
-- jobs of the priority low are background jobs.
local PRIORITIES = { 'high', 'high_background', 'normal', 'normal_background', 'low' }
local IS_BACKGROUND = { high_background = true, normal_background = true, low = true }
local TERMINAL = { completed = true, incomplete = true, failed = true, cancelled = true }

-- Return a fencing token larger than every earlier one, also after a lost write rolled the key back: the
-- token is at least the clock's microseconds.
local latest_fence = nil
local function next_fence()
  local fence = NOW
  local before = latest_fence or tonumber(redis.call('SET', P .. 'fence', text(fence), 'GET') or 0)
  if before >= fence then
    fence = before + 1
    redis.call('SET', P .. 'fence', text(fence))
  end
  latest_fence = fence
  return text(fence)
end

-- The message that gives a job to a worker: a line of text, then the request. It may be lost: `take_claims`
-- returns the same again.
local function claim_message(id, fence, replica, last, attempt, generation)
  return table.concat({ id, fence, replica, last, attempt }, ' ') .. '\n' .. generation
end
