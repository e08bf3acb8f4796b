#!lua flags=allow-oom
-- Record a load or unload by a caller for the cool-down of its model (fleet/cooldown.py).
-- KEYS[1] prefix
-- ARGV    2 model  3 'load' or 'unload'  4 first pause (us)  5 longest pause (us)
-- include: store/base
local key = P .. 'cooldown:' .. ARGV[2]
local last_us, pause_us = read_fields(key, 'last_us', 'pause_us')
local pause = tonumber(pause_us or ARGV[4])
if last_us and ARGV[3] == 'load' then
  -- soon after the end of the pause the next one is twice as long
  local soon = NOW < tonumber(last_us) + 2 * pause
  pause = soon and math.min(2 * pause, tonumber(ARGV[5])) or tonumber(ARGV[4])
end
redis.call('HSET', key, 'last_us', text(NOW), 'pause_us', text(pause))
redis.call('PEXPIRE', key, text(2 * pause / 1000 + 1))
