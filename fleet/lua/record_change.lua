#!lua flags=allow-oom
-- Record a load or unload by a caller for the cool-down of its model (fleet/cooldown.py).
-- KEYS[1] prefix
-- args: model kind first_pause_us max_pause_us
--   kind: 'load' or 'unload'
-- include: store/base
local key = P .. 'cooldown:' .. args.model
local last_us, pause_us = read_fields(key, 'last_us', 'pause_us')
local pause = tonumber(pause_us or args.first_pause_us)
if last_us and args.kind == 'load' then
  -- soon after the end of the pause the next one is twice as long
  local soon = NOW < tonumber(last_us) + 2 * pause
  pause = soon and math.min(2 * pause, tonumber(args.max_pause_us)) or tonumber(args.first_pause_us)
end
redis.call('HSET', key, 'last_us', text(NOW), 'pause_us', text(pause))
redis.call('PEXPIRE', key, text(2 * pause / 1000 + 1))
