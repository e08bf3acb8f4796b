-- The budgets of tenants: what their ended requests may use in a calendar month (UTC). `month_usage:<month>` has what they
-- used in it (docs/decisions/0060-budgets-of-a-month.md).

-- Return the month of a day as text (YYYY-MM), and the day after its last one; days are counted from 1970-01-01. In March-based
-- years of 400-year eras (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days and its reverse).
local function month_of(day)
  local shifted = day + 719468 -- since 0000-03-01
  local era = math.floor(shifted / 146097)
  local of_era = shifted - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153) -- 0: March
  local days_before = math.floor((153 * (month + 1) + 2) / 5)
  local ends = day - of_year + days_before
  if month == 11 then -- February ends where the next of these years begins
    local following = year + 1
    ends = era * 146097 + 365 * following + math.floor(following / 4) - math.floor(following / 100)
      + math.floor(following / 400) - 719468
  end
  local number = month < 10 and month + 3 or month - 9
  return string.format('%04d-%02d', era * 400 + year + (number <= 2 and 1 or 0), number), ends
end

-- Return the month of the time now, and when it ends (us).
local function current_month()
  local month, ends = month_of(math.floor(NOW / 86400000000))
  return month, ends * 86400000000
end

-- Return why the budget of a tenant is used: {unit, budget, used, end of the month (us), the time now}; nil while it is not.
-- most_tokens, most_us: the budget in tokens, and in time in slots; 0 for none.
local function used_budget(tenant, most_tokens, most_us)
  if most_tokens == 0 and most_us == 0 then return nil end
  local month, ends_us = current_month()
  local tokens, run_us = string.match(redis.call('HGET', P .. 'month_usage:' .. month, tenant) or '', '^(%d+) (%d+)$')
  tokens, run_us = tonumber(tokens) or 0, tonumber(run_us) or 0
  if most_tokens > 0 and tokens >= most_tokens then return { 'tokens', most_tokens, tokens, ends_us, NOW } end
  if most_us > 0 and run_us >= most_us then return { 'gpu_s', most_us, run_us, ends_us, NOW } end
end
