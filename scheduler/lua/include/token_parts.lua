-- The tokens of a tenant with a token limit, or of a caller's account: `tokens:<account>` has them by the sixtieth of the window, counted from 1970,
-- in which the request was admitted: first its estimate, and from its end on what it really used.
local PARTS = 60

local function part_at(time_us, window_us) return math.floor(time_us * PARTS / window_us) end

-- Replace the estimate by the tokens that an ended job really used; nil when they are not known. After the window
-- neither counts.
local function correct_tokens(job, tokens)
  local admitted_us, window_us = tonumber(job.admitted_us), tonumber(job.token_window_us)
  local change = (tokens or job.cost) - job.cost
  if change == 0 or NOW - admitted_us >= window_us then return end
  local key, part = tokens_key(job.account or job.tenant), text(part_at(admitted_us, window_us))
  -- negative: the estimate is gone, since the window was changed to a shorter one, or Redis lost it
  if redis.call('HINCRBY', key, part, text(change)) < 0 then redis.call('HDEL', key, part) end
end
