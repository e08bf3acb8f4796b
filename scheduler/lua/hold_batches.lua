#!lua flags=allow-oom
-- Become the runner of all batches if there is none, or stay it.
-- KEYS[1] prefix
-- args: fence lease_ms give_back
--   fence: '' of a process that is not the runner; give_back: 0|1
-- returns the fence of the caller, nil when it is not the runner
-- include: store/base
local key, holder = P .. 'batch_runner', redis.call('GET', P .. 'batch_runner')
if holder and holder ~= args.fence then return nil end
if args.give_back == '1' then
  if holder then redis.call('DEL', key) end
  return nil
end
if args.fence ~= '' and not holder then return nil end -- its lease has ended: what it holds in memory may be old
local fence = holder or next_fence()
redis.call('SET', key, fence, 'PX', args.lease_ms)
return fence
