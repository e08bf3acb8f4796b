#!lua flags=no-writes,allow-oom
-- Return the next jobs of a model's queue in their order, and what its waiting jobs wait for. Changes nothing.
-- KEYS[1] prefix
-- args: model most
--   most: most jobs to return
-- returns {depth, slots, average run (ms) or '', state, code of its failure, 1 when a restart is due,
--         progress of its operation (0 to 1) or '', {id, ...}, the time (us), usual duration of a load (ms) or '', since when
--         the load under way runs (us) or '', what its load waits for (JSON) or '', 1 when requests wait for its load}
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/fair_order
local model = args.model
local state, code, restart_us, operation, load_ms, note =
  read_fields(model_key(model), 'state', 'code', 'restart_us', 'operation', 'load_ms', 'demand_note')
local progress, began_us = nil, nil
if operation and operation ~= '' then progress, began_us = read_fields(P .. 'operation:' .. operation, 'progress', 'began_us') end
local slots, run_ms = open_slots(model), read_usage(model).values['@run_ms']
return { redis.call('ZCARD', P .. 'waiting:' .. model), slots, run_ms and text(run_ms) or '',
  state or 'unloaded', code or '', restart_us and 1 or 0, progress or '', fair_order(model, tonumber(args.most)), text(NOW),
  load_ms or '', state == 'loading' and began_us or '', note or '', redis.call('ZSCORE', P .. 'demand', model) and 1 or 0 }
