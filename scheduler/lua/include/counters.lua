-- The counters of /metrics: fields of the hash `counters`, "<kind> <label> ...", each a whole number.

-- Count in Redis at once: for what happens rarely.
local function add_to_counter(field, amount) redis.call('HINCRBY', P .. 'counters', field, text(amount or 1)) end
