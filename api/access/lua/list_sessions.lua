#!lua flags=allow-oom
-- List sessions, the one that was used last first. Runs when memory is full, too: it only removes sessions that have
-- ended.
-- KEYS[1] prefix
-- args: key id idle_us admin_idle_us limit
--   key: of this API key or person; '' for all; id: of this session alone, or ''; limit: the most sessions
-- returns {number of all, {id, key, began_us, used_us, 1 with the admin part, else 0, address, agent, person}..}; '' for what is unknown
-- include: store/base
-- include: api/access/session
local sessions = args.key == '' and P .. 'sessions' or P .. 'key_sessions:' .. args.key
local found = {}
redis.call('ZREMRANGEBYSCORE', sessions, '-inf', text(NOW - tonumber(args.idle_us)))
local ids = args.id ~= '' and { args.id } or redis.call('ZREVRANGE', sessions, 0, tonumber(args.limit) - 1)
for _, id in ipairs(ids) do
  local session = P .. 'session:' .. id
  local key, began_us, used_us, admin_used_us, address, agent, person, ends_us = unpack(redis.call('HMGET', session,
    'key', 'began_us', 'used_us', 'admin_used_us', 'address', 'agent', 'person', 'ends_us'))
  if not key then
    redis.call('ZREM', sessions, id)
  elseif ends_us and NOW >= tonumber(ends_us) then
    end_session(id)
  else
    local as_admin = admin_used_us and NOW - tonumber(admin_used_us) < tonumber(args.admin_idle_us)
    found[#found + 1] = { id, key, began_us, used_us, as_admin and 1 or 0, address or '', agent or '', person or '' }
  end
end
return { redis.call('ZCARD', sessions), unpack(found) }
