-- The counters of /metrics: fields of the hash `counters`, "<kind> <label> ...", each a whole number.

-- Count in Redis at once: for what happens rarely.
local function add_to_counter(field, amount) redis.call('HINCRBY', P .. 'counters', field, text(amount or 1)) end

-- Return the label of a model in `counters`: its name, or that which `add_dynamic_model` chose.
local label_by_model = {}
local function model_label(model)
  label_by_model[model] = label_by_model[model] or redis.call('HGET', model_key(model), 'label') or model
  return label_by_model[model]
end
