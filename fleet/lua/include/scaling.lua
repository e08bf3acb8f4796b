-- include: store/change_feed
-- The number of replicas of a loaded model follows its load: `wanted` is at least `least`, with which the load began.
-- `leaving` counts its replicas that stop meanwhile.

-- Return how many replicas of a model stay: all but those that stop while the model stays loaded.
local function count_staying(model)
  return redis.call('SCARD', P .. 'replicas:' .. model) - (tonumber(redis.call('HGET', model_key(model), 'leaving')) or 0)
end

-- Change the number of replicas that are wanted (+1 or -1), and report it with the reason (text). Returns the new number;
-- nil when nothing is changed, since the model is not loaded any more, or has no replica to spare.
local function change_wanted(model, change, reason, operation)
  local state, wanted, least = read_fields(model_key(model), 'state', 'wanted', 'least')
  local after = (tonumber(wanted) or 0) + change
  if state ~= 'loaded' or after < (tonumber(least) or 1) then return nil end
  redis.call('HSET', model_key(model), 'wanted', text(after), 'replicas', text(after))
  append_change('model', model, 'was', 'loaded', 'state', 'loaded', 'at_us', text(NOW), 'operation', operation or '',
    'code', '', 'message', reason .. ': ' .. wanted .. ' → ' .. text(after) .. ' replicas')
  return after
end
