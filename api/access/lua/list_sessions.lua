#!lua flags=no-writes,allow-oom
-- List sessions, the one that was used last first. Runs while Redis refuses writes; the next sign-in removes those that
-- have ended.
-- KEYS[1] prefix
-- args: key id idle_us admin_idle_us limit
--   key: of this API key or person; '' for all; id: of this session alone, or ''; limit: the most sessions
-- returns {number of all, {id, key, began_us, used_us, 1 with the admin part, else 0, address, agent, person}..}; '' for what is unknown
-- include: store/base
-- include: api/access/session
local sessions = args.key == '' and P .. 'sessions' or P .. 'key_sessions:' .. args.key
local idle_us, admin_idle_us = tonumber(args.idle_us), tonumber(args.admin_idle_us)
local since = '(' .. text(NOW - idle_us)
local count, found = redis.call('ZCOUNT', sessions, since, '+inf'), {}
local ids = args.id ~= '' and { args.id }
  or redis.call('ZREVRANGEBYSCORE', sessions, '+inf', since, 'LIMIT', 0, args.limit)
for _, id in ipairs(ids) do
  local key, as_admin, person = read_session(id, idle_us, admin_idle_us)
  if key then
    local began_us, used_us, address, agent =
      unpack(redis.call('HMGET', P .. 'session:' .. id, 'began_us', 'used_us', 'address', 'agent'))
    found[#found + 1] = { id, key, began_us, used_us, as_admin and 1 or 0, address or '', agent or '', person or '' }
  else
    count = count - 1
  end
end
return { count, unpack(found) }
