-- When `expire` dispatches for the delayed jobs of a model (`delayed_jobs`): `delays` has the models by the earliest such time (us).

-- Let it dispatch at this time (us), or earlier if that was asked for before.
local function dispatch_delayed_at(model, at_us) redis.call('ZADD', P .. 'delays', 'LT', text(at_us), model) end

-- A replica accepts no more jobs: those that were delayed for it may run elsewhere.
local function release_delayed(model)
  if redis.call('EXISTS', P .. 'delayed:' .. model) == 1 then dispatch_delayed_at(model, NOW) end
end
