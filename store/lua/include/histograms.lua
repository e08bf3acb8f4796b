-- The histograms of /metrics, as fields of `counters`: one for each bucket ("<kind> <label> ... <number of the
-- bucket>", the last has no upper bound), and one for the sum ("... sum"), in us.
local BUCKETS_US = {
  queue_wait = { 10000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
    120000000 },
  first_output = { 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000,
    60000000, 120000000 },
  token_time = { 1000, 2500, 5000, 10000, 15000, 25000, 50000, 75000, 100000, 250000, 500000, 1000000 },
  run_time = { 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000, 120000000,
    300000000, 600000000 },
}

-- Return the two fields of a histogram to which a value (us) is counted: its bucket, and the sum.
local function histogram_fields(kind, labels, value_us)
  local bounds = BUCKETS_US[kind]
  local number = #bounds + 1
  for at, bound in ipairs(bounds) do
    if value_us <= bound then number = at; break end
  end
  local name = kind .. ' ' .. labels .. ' '
  return name .. number, name .. 'sum'
end
