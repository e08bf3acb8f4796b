#!lua flags=allow-oom
-- List sessions, the one that was used last first. Runs when memory is full, too: it only removes the ids of sessions
-- that have ended.
-- KEYS[1] prefix
-- args: key idle_us admin_idle_us limit
--   key: of this API key or person; '' for all; limit: the most sessions
-- returns {id, key, began_us, used_us, 1 with the admin part, else 0, address, agent, person}..; '' for what is unknown
-- include: store/base
local sessions = args.key == '' and P .. 'sessions' or P .. 'key_sessions:' .. args.key
local found = {}
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', text(NOW - tonumber(args.idle_us)))
for _, id in ipairs(redis.call('ZREVRANGE', sessions, 0, tonumber(args.limit) - 1)) do
  local session = P .. 'session:' .. id
  local key, began_us, used_us, admin_used_us, address, agent, person, ends_us = unpack(redis.call('HMGET', session,
    'key', 'began_us', 'used_us', 'admin_used_us', 'address', 'agent', 'person', 'ends_us'))
  if not key then
    redis.call('ZREM', sessions, id)
  elseif not ends_us or NOW < tonumber(ends_us) then
    local as_admin = admin_used_us and NOW - tonumber(admin_used_us) < tonumber(args.admin_idle_us)
    found[#found + 1] = { id, key, began_us, used_us, as_admin and 1 or 0, address or '', agent or '', person or '' }
  end
end
return found
