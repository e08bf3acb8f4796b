-- Included by the scripts of sessions: reads, uses and ends one.

-- Return the digest of the API key, whether the admin part is still there, the JSON of the person, and the last use of the
-- admin part (us) of a session; nil if there is none or it was idle for too long.
local function read_session(id, idle_us, admin_idle_us)
  local api_key, used_us, admin_used_us, person, ends_us = unpack(redis.call('HMGET', P .. 'session:' .. id,
    'key', 'used_us', 'admin_used_us', 'person', 'ends_us'))
  if not api_key or NOW - tonumber(used_us) >= idle_us or ends_us and NOW >= tonumber(ends_us) then return nil end
  return api_key, admin_used_us and NOW - tonumber(admin_used_us) < admin_idle_us, person, admin_used_us
end

-- Record a use of a session at this moment; `as_admin`: of its admin part, too.
local function use_session(id, api_key, idle_us, as_admin)
  local session, sessions = P .. 'session:' .. id, P .. 'key_sessions:' .. api_key
  local admin_use = as_admin and { 'admin_used_us', text(NOW) } or {}
  redis.call('HSET', session, 'used_us', text(NOW), unpack(admin_use))
  redis.call('ZADD', sessions, text(NOW), id)
  redis.call('ZADD', P .. 'sessions', text(NOW), id)
  redis.call('EXPIRE', session, math.ceil(idle_us / 1000000))
  redis.call('EXPIRE', sessions, math.ceil(idle_us / 1000000))
end

-- End a session. Return 1 if there was one, else 0.
local function end_session(id)
  local session = P .. 'session:' .. id
  local api_key = redis.call('HGET', session, 'key')
  if not api_key then return 0 end
  redis.call('DEL', session)
  local sessions = P .. 'key_sessions:' .. api_key
  redis.call('ZREM', sessions, id)
  redis.call('ZREM', P .. 'sessions', id)
  return 1
end
