#!lua flags=no-writes,allow-oom
-- Return the next jobs of a model's queue in their order, and what its waiting jobs wait for. Changes nothing.
-- KEYS[1] prefix
-- args: model most
--   most: most jobs to return
-- returns {depth, slots, average run (ms) or '', state, code of its failure, 1 when a restart is due,
--         progress of its operation (0 to 1) or '', {id, ...}}
-- include: store/base
-- include: scheduler/queue
-- include: scheduler/fair_order
local model = args.model
local state, code, restart_us, operation = read_fields(model_key(model), 'state', 'code', 'restart_us', 'operation')
local progress = operation and operation ~= '' and redis.call('HGET', P .. 'operation:' .. operation, 'progress')
local slots, run_ms = open_slots(model), read_usage(model).values['@run_ms']
return { redis.call('ZCARD', P .. 'waiting:' .. model), slots, run_ms and text(run_ms) or '',
  state or 'unloaded', code or '', restart_us and 1 or 0, progress or '', fair_order(model, tonumber(args.most)) }
