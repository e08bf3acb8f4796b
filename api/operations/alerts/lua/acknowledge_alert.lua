#!lua flags=allow-oom
-- An operator acknowledges the alerts of a rule that fire, and records that. A later acknowledgement replaces an earlier one.
-- KEYS[1] prefix
-- args: rule severity evaluated_us hours note by
--   evaluated_us: time of the evaluation that the operator knows: what a later one finds is not acknowledged
--   hours: how long it holds, at most until the alerts are resolved (0 hours stands for that)
--   by: who asks for it (JSON: actor, authority, ...)
-- returns ok
-- include: store/base
-- include: store/change_feed
-- include: governance/audit
local REPEAT_US = 10000000 -- the same within this time is a call whose reply was lost
local by = cjson.decode(args.by)
local before = redis.call('HGET', P .. 'alert_acknowledgements', args.rule)
local known = before and cjson.decode(before)
local until_us = args.hours == '0' and '' or text(NOW + tonumber(args.hours) * 3600000000)
local found = { actor = by.actor, at_us = args.evaluated_us, asked_us = text(NOW), until_us = until_us, hours = args.hours,
  note = args.note }
redis.call('HSET', P .. 'alert_acknowledgements', args.rule, cjson.encode(found))
if not (known and known.actor == by.actor and known.note == args.note and known.hours == args.hours
    and NOW - tonumber(known.asked_us or known.at_us) < REPEAT_US) then
  append_change('alert', args.rule, 'label', '', 'was', 'firing', 'state', 'acknowledged', 'severity', args.severity,
    'message', args.note, 'at_us', text(NOW), 'operation', '')
  append_audit(by, 'acknowledge_alert', args.rule, 'done', { hours = tonumber(args.hours), note = args.note })
end
return 'ok'
