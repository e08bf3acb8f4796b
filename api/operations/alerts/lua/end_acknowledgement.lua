#!lua flags=allow-oom
-- An operator takes back the acknowledgement of a rule's alerts, and records that.
-- KEYS[1] prefix
-- args: rule severity by
--   by: who asks for it (JSON: actor, authority, ...)
-- returns ok | unchanged (there is none: the answer of an earlier call may be lost)
-- include: store/base
-- include: store/change_feed
-- include: governance/audit
if redis.call('HDEL', P .. 'alert_acknowledgements', args.rule) == 0 then return 'unchanged' end
append_change('alert', args.rule, 'label', '', 'was', 'acknowledged', 'state', 'firing', 'severity', args.severity,
  'message', '', 'at_us', text(NOW), 'operation', '')
append_audit(cjson.decode(args.by), 'end_acknowledgement', args.rule, 'done')
return 'ok'
