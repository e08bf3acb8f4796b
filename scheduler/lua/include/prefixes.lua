-- Which replicas have computed the prefixes of a job before (generation/prefix_keys.py).
--
-- `prefixes:<model>` is a hash of constant size: 64 buckets, by tenant, of 1,024 fields. A field has one prefix, the
-- latest that falls there: its tag, and the replicas that were given it, the latest first, each with a mark. A replica is
-- named without its model; it has a new name at each start, so what is noted of one that is gone matches nothing.
--
-- A mark is what the replica had stored when it was given the prefix (`cache_stored`). An entry counts until the replica
-- has stored as much again as its cache holds (`cache_capacity`, if the engine tells), and unless the engine has computed
-- a prefix anew whose mark was the same or later (`cache_floor`): engines drop first what was used least recently.
--
-- The field `<bucket>` has the ratio of the tokens that engines report to those that are estimated from bytes, an average of the
-- bucket's prompts: a language with few bytes in a token saves more by a cached prefix.

-- The fields of replicas that this call has read.
local replicas_read = {}

local function read_replica(replica)
  local known = replicas_read[replica]
  if not known then
    local worker, incarnation, slots, lease_us, stored, capacity, unit, floor, up_us = read_fields(replica_key(replica),
      'worker', 'incarnation', 'slots', 'lease_us', 'cache_stored', 'cache_capacity', 'cache_unit', 'cache_floor', 'up_us')
    known = { worker = worker, incarnation = incarnation, slots = slots, lease_us = lease_us, up_us = tonumber(up_us) or 0,
      stored = tonumber(stored) or 0, capacity = tonumber(capacity) or math.huge, unit = unit,
      floor = tonumber(floor) or -1 }
    replicas_read[replica] = known
  end
  return known
end

-- Whether what a replica stored at this mark is probably still in its cache.
local function is_cached(replica, mark)
  local known = read_replica(replica)
  return known.worker and mark > known.floor and known.stored - mark <= known.capacity
end

-- The fewest tokens of a prefix that matter: engines reuse whole blocks of tokens.
local LEAST_TOKENS = 256

-- Count the ratio of a prompt in the average of its bucket: one fifth. Nothing is read or written when it is near what the job
-- was dispatched by (before, or nil).
local function note_ratio(model, bucket, ratio, before)
  local LEAST_CHANGE, LEAST, MOST = 0.1, 0.25, 8
  local key = P .. 'prefixes:' .. model
  ratio = math.max(LEAST, math.min(ratio, MOST))
  if before and math.abs(ratio / before - 1) <= LEAST_CHANGE then return end
  local stored = tonumber(redis.call('HGET', key, bucket) or nil)
  if not stored and redis.call('EXISTS', key) == 0 then return end
  redis.call('HSET', key, bucket, string.format('%.2f', (stored or ratio) * 0.8 + ratio * 0.2))
end

-- Count what a job that has ended by itself has stored in the cache of its replica: tokens, or, where the cache has a sequence
-- for each slot, a sequence if the job began another one. An engine that has computed most of what was noted there (`reuse`
-- of the job) has dropped that prefix; of sequences the capacity says it exactly.
-- Returns the tokens of the prompt that were computed; nil when they are not known.
local function count_stored(job, usage)
  local replica = job.replica
  local known = read_replica(replica)
  local input, output = string.match(usage or '', '"input_tokens":(%d+)'), string.match(usage or '', '"output_tokens":(%d+)')
  input = tonumber(input or 0)
  if not known.worker or input == 0 then return end
  local cached = math.min(input, tonumber(string.match(usage, '"cached_tokens":(%d+)') or 0))
  local has_sequences = known.unit == 'sequences'
  local stored = has_sequences and (cached < input / 2 and 1 or 0) or input - cached + (output or 0)
  known.stored = redis.call('HINCRBY', replica_key(replica), 'cache_stored', stored)
  local tokens, mark = string.match(job.reuse, '^(%d+) (%d+) ')
  local bucket, estimate, before = string.match(job.reuse, '^%S+ %S+ (%d+) (%d+) (%S+) %S+$')
  tokens, mark, estimate, before = tonumber(tokens or 0), tonumber(mark or -1), tonumber(estimate or 0), tonumber(before or '')
  if estimate >= LEAST_TOKENS then tokens = math.floor(tokens / (before or 1) * input / estimate) end -- by its own prompt
  -- a prompt that is shorter than the prefix was truncated
  if not has_sequences and tokens >= LEAST_TOKENS and tokens <= input and cached < tokens / 2 and mark > known.floor then
    known.floor = mark
    redis.call('HSET', replica_key(replica), 'cache_floor', text(mark))
  end
  if estimate >= LEAST_TOKENS then note_ratio(job.model, bucket, input / estimate, before) end
  return input - cached
end

-- Read what is known of a job's prefixes: `field tag tokens` of each, the shortest first; `whole` follows when the last one is all
-- of a prompt of text, which is not truncated. Nil without any.
-- (One function: a script may have 200 local names.)
local function read_prefixes(model, text_of_keys)
  if not text_of_keys or text_of_keys == '' then return nil end
  local key, fields, tags, tokens = P .. 'prefixes:' .. model, {}, {}, {}
  for field, tag, count in string.gmatch(text_of_keys, '(%S+) (%S+) (%d+)') do
    fields[#fields + 1], tags[#tags + 1], tokens[#tokens + 1] = field, tag, tonumber(count)
  end
  local bucket, estimate = string.match(fields[1], '^%d+'), string.find(text_of_keys, ' whole$') and tokens[#tokens] or 0
  local values = redis.call('HMGET', key, bucket, unpack(fields))
  local ratio = tonumber(table.remove(values, 1) or nil)
  for at, count in ipairs(tokens) do tokens[at] = math.floor(count * (ratio or 1)) end

  -- The most replicas that are noted for a prefix.
  local MAX_HOLDERS = 4

  -- The tokens that are worth computing again rather than running on a replica all of whose slots are taken, beside one
  -- with none.
  local LOAD_TOKENS = 2000

  local function name_of(replica) return string.sub(replica, #model + 2) end
  local function replica_of(name) return model .. '#' .. name end

  -- Return the names and marks of the replicas for the prefix at this place; none if its field has another one.
  local function holders_of(at)
    local tag, holders = string.match(values[at] or '', '^(%S+) (.*)$')
    return string.gmatch(tag == tags[at] and holders or '', '(%S+) (%d+)%f[%s%z]')
  end

  -- Return the tokens of the longest prefix that a replica has in its cache, and its mark; 0 without one.
  local function reuse_of(name)
    for at = #tokens, 1, -1 do
      for holder, mark in holders_of(at) do
        if holder == name and is_cached(replica_of(name), tonumber(mark)) then return tokens[at], tonumber(mark) end
      end
    end
    return 0
  end

  local noted = nil

  -- Return the names of the replicas that are noted for a prefix, their shares of taken slots (nil: not ready), and the
  -- most tokens of each, whether they still count or not.
  local function noted_replicas()
    if noted then return unpack(noted) end
    local names, replicas, shares, most = {}, {}, {}, {}
    for at in ipairs(tokens) do
      for name in holders_of(at) do
        if not most[name] then
          names[#names + 1], replicas[#replicas + 1] = name, replica_of(name)
        end
        most[name] = tokens[at]
      end
    end
    if #names > 0 then
      for at, share in ipairs(redis.call('ZMSCORE', P .. 'ready:' .. model, unpack(replicas))) do
        shares[names[at]] = tonumber(share or nil)
      end
    end
    noted = { names, shares, most }
    return names, shares, most
  end

  -- Return the name with the largest worth that is positive, and its mark; of equal ones the last, which was given a prefix
  -- longest ago, so that they take turns. Only what the chosen one has in its cache is checked, since a call reads the fields
  -- of that replica anyway.
  local function best_of(names, most, worth)
    local checked, marks = {}, {}
    while true do
      local best, value = nil, 0
      for _, name in ipairs(names) do
        local own = worth(name)
        if own and (own > value or own == value and best) then best, value = name, own end
      end
      if not best or checked[best] then return best, marks[best] end
      most[best], marks[best] = reuse_of(best)
      checked[best] = true
    end
  end

  return {
    -- Return the ready replica that saves the most tokens, less those that its load is worth, its share of taken slots, and
    -- true. If none saves any, return the given replica, which has the smallest share, and that share.
    warmest_replica = function(replica, share)
      local names, shares, most = noted_replicas()
      local best = best_of(names, most, function(name)
        local taken = shares[name]
        return taken and taken < 1 and most[name] - LOAD_TOKENS * (taken - share)
      end)
      if not best then return replica, share end
      return replica_of(best), shares[best], true
    end,

    -- Return the ready replica, with a free slot or not, that saves the most tokens, these, their mark, and its share of taken
    -- slots; nil when none saves any.
    warmest_of_all = function()
      local names, shares, most = noted_replicas()
      local best, mark = best_of(names, most, function(name) return shares[name] and most[name] end)
      if best then return replica_of(best), most[best], mark, shares[best] end
    end,

    -- Return the tokens of the longest prefix that a replica has in its cache.
    tokens_in = function(replica) return (reuse_of(name_of(replica))) end,

    -- Write that a replica is given these prefixes. A prefix that another one has displaced displaces it only if no
    -- longer one is known, which leads to the replica as well, or if it is the first, which other requests share. None
    -- displaces the first one of its own prompt.
    -- Returns the tokens that it probably does not compute again, the mark of that prefix if it must have been stored in the
    -- meantime, else '-', and what `count_stored` needs: `<bucket> <tokens by bytes; 0: not all of them> <ratio or ->`.
    note = function(replica)
      local own, changes, now = name_of(replica), {}, read_replica(replica)
      local reused, reused_mark = reuse_of(own)
      local known = 0
      for at in ipairs(fields) do
        if holders_of(at)() then known = at end
      end
      for at, field in ipairs(fields) do
        local holders = { tags[at], own, text(now.stored) }
        for name, mark in holders_of(at) do
          if name ~= own and #holders <= 2 * MAX_HOLDERS then
            holders[#holders + 1], holders[#holders + 2] = name, mark
          end
        end
        if at == 1 or field ~= fields[1] and (at > known or holders_of(at)()) then
          changes[#changes + 1], changes[#changes + 2] = field, table.concat(holders, ' ')
        end
      end
      redis.call('HSET', key, unpack(changes))
      local since = reused > 0 and now.stored - reused_mark or 0
      local is_stored = reused > 0 and since >= (now.unit == 'sequences' and 2 or reused)
      return reused, is_stored and text(reused_mark) or '-', table.concat({ bucket, estimate, ratio or '-' }, ' ')
    end,
  }
end
