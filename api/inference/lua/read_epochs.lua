#!lua flags=allow-oom
-- An API process reads the secret and the epochs of the cache namespaces, and reports the version of the epochs that
-- it uses at this moment: a flush waits until all live processes use the raised ones.
-- KEYS[1] prefix
-- args: process version secret max_age_us
--   version: in use, '' when it has none yet; secret: becomes that of the platform when it has none
--   max_age_us: age after which a process is forgotten
-- returns {secret, version} | {secret, version, {field, epoch, ...}} when its version differs
-- include: store/base
local epochs = P .. 'cache_epochs'
local readers = P .. 'epoch_readers'
local secret = redis.call('SET', P .. 'cache_secret', args.secret, 'NX', 'GET') or args.secret
local version = redis.call('HGET', epochs, '@version') or '0'
if args.version == '' then
  local others = redis.call('HGETALL', readers)
  for at = 2, #others, 2 do
    if NOW - tonumber(string.match(others[at], ' (%d+)')) > tonumber(args.max_age_us) then
      redis.call('HDEL', readers, others[at - 1])
    end
  end
end
-- without any it names no namespace: it need not be waited for, but be woken
redis.call('HSET', readers, args.process, (args.version == '' and version or args.version) .. ' ' .. text(NOW))
if version == args.version then return { secret, version } end
return { secret, version, redis.call('HGETALL', epochs) }
