#!lua flags=allow-oom
-- An API process reads the secret and the epochs of the cache namespaces, and reports the version of the epochs that
-- it uses at this moment: a flush waits until all live processes use the raised ones.
-- KEYS[1] prefix
-- ARGV    2 process  3 version in use, '' when it has none yet  4 a secret, which becomes that of the platform when it
--         has none  5 age (us) after which a process is forgotten
-- returns {secret, version} | {secret, version, {field, epoch, ...}} when the version differs from 3
-- include: store/base
local epochs = P .. 'cache_epochs'
local readers = P .. 'epoch_readers'
local secret = redis.call('SET', P .. 'cache_secret', ARGV[4], 'NX', 'GET') or ARGV[4]
local version = redis.call('HGET', epochs, '@version') or '0'
if ARGV[3] == '' then
  local others = redis.call('HGETALL', readers)
  for at = 2, #others, 2 do
    if NOW - tonumber(string.match(others[at], ' (%d+)')) > tonumber(ARGV[5]) then
      redis.call('HDEL', readers, others[at - 1])
    end
  end
end
-- without any it names no namespace: it need not be waited for, but be woken
redis.call('HSET', readers, ARGV[2], (ARGV[3] == '' and version or ARGV[3]) .. ' ' .. text(NOW))
if version == ARGV[3] then return { secret, version } end
return { secret, version, redis.call('HGETALL', epochs) }
