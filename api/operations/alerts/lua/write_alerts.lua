#!lua flags=allow-oom
-- Write what an evaluation has found, report the alerts that fire or are resolved, and enter their webhooks, all at once:
-- so each of them is reported once, whichever process evaluates.
-- KEYS[1] prefix
-- args: turn_us instances growth firing change_count max_waiting entries..
--   turn_us: time of the turn; another process has begun one since: nothing is written; nor when this call has written it
--     already, and its reply was lost
--   instances, growth: JSON; firing: JSON list of the rules with an alert that fires: others lose their acknowledgements after
--     a day, since a worker is listed for a day after its loss. One of a time to come loses it, too: the clock was set back,
--     and it would cover what fires from now on
--   max_waiting: the most deliveries that wait for one target; those of other alerts are left out and counted
--   entries: for each change: rule, label, was, state, severity, summary; then for each delivery: list, id, JSON, key of its
--     alert: it takes the place of an event of this alert that still waits, which could arrive after it
-- returns ok | late
-- include: store/base
-- include: store/change_feed
local KEPT_S = 86400
local STATE_KEPT_S = 30 * KEPT_S
local CHANGE, DELIVERY = 6, 4

local turn, written = read_fields(P .. 'alerts', 'turn', 'written')
if turn ~= args.turn_us then return 'late' end
if written == args.turn_us then return 'ok' end
redis.call('HSET', P .. 'alerts', 'written', args.turn_us, 'instances', args.instances, 'growth', args.growth)
redis.call('EXPIRE', P .. 'alerts', KEPT_S)
local fires = {}
for _, rule in ipairs(cjson.decode(args.firing)) do fires[rule] = true end
local acknowledged = redis.call('HGETALL', P .. 'alert_acknowledgements')
for at = 1, #acknowledged, 2 do
  local age_us = tonumber(args.turn_us) - tonumber(cjson.decode(acknowledged[at + 1]).at_us)
  if age_us < 0 or not fires[acknowledged[at]] and age_us > KEPT_S * 1000000 then
    redis.call('HDEL', P .. 'alert_acknowledgements', acknowledged[at])
  end
end
local deliveries = first.entries + CHANGE * tonumber(args.change_count)
for at = first.entries, deliveries - 1, CHANGE do
  append_change('alert', ARGV[at], 'label', ARGV[at + 1], 'was', ARGV[at + 2], 'state', ARGV[at + 3], 'severity', ARGV[at + 4],
    'message', ARGV[at + 5], 'at_us', args.turn_us, 'operation', '')
end
for at = deliveries, #ARGV, DELIVERY do
  local list, id, alert = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local waiting, entries, latest = P .. 'webhooks:' .. list, P .. 'webhook_entries:' .. list, P .. 'webhook_alerts:' .. list
  local earlier = redis.call('HGET', latest, alert)
  if earlier then
    redis.call('ZREM', waiting, earlier)
    redis.call('HDEL', entries, earlier)
  end
  if earlier or redis.call('ZCARD', waiting) < tonumber(args.max_waiting) then
    redis.call('ZADD', waiting, text(math.floor(tonumber(args.turn_us) / 1000)), id)
    redis.call('HSET', entries, id, ARGV[at + 2])
    redis.call('HSET', latest, alert, id)
    redis.call('EXPIRE', latest, STATE_KEPT_S)
  else
    redis.call('HINCRBY', P .. 'webhook_state:' .. list, 'left_out', 1)
    redis.call('EXPIRE', P .. 'webhook_state:' .. list, STATE_KEPT_S)
  end
end
return 'ok'
