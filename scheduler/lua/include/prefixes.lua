-- Which replicas have computed the prefixes of a job before (generation/prefix_keys.py).
--
-- `prefixes:<model>` is a hash of constant size: 64 buckets, by tenant, of 1,024 fields. A field has one prefix, the
-- latest that falls there: its tag, and the replicas that were given it, the latest first, without the name of the
-- model. A replica has a new name at each start, so what is said of one that is gone matches nothing.

-- Read what is known of a job's prefixes: `field tag tokens` of each, the shortest first. Nil without any.
-- (One function: a script may have 200 local names.)
local function read_prefixes(model, text)
  if not text or text == '' then return nil end
  local key, fields, tags, tokens = P .. 'prefixes:' .. model, {}, {}, {}
  for field, tag, count in string.gmatch(text, '(%S+) (%S+) (%d+)') do
    fields[#fields + 1], tags[#tags + 1], tokens[#tokens + 1] = field, tag, tonumber(count)
  end
  local values = redis.call('HMGET', key, unpack(fields))

  -- The most replicas that are noted for a prefix.
  local MAX_HOLDERS = 4

  -- The tokens that it is worth to compute again rather than to run on a replica all of whose slots are taken, beside
  -- one with none.
  local LOAD_TOKENS = 2000

  -- Return the names of the replicas that hold the prefix at this place; nothing if its field has another one.
  local function holders_of(at)
    local tag, names = string.match(values[at] or '', '^(%S+) (.*)$')
    return string.gmatch(tag == tags[at] and names or '', '%S+')
  end

  return {
    -- Return the ready replica that saves the most tokens, less those that its load is worth, its share of taken slots, and
    -- true: of equal ones the one that was given a prefix longest ago, so that they take turns. If none saves any, return
    -- the given replica, which has the smallest share, and that share.
    warmest_replica = function(replica, share)
      local names, saved, replicas = {}, {}, {}
      for at in ipairs(tokens) do
        for name in holders_of(at) do
          if not saved[name] then
            names[#names + 1] = name
            replicas[#replicas + 1] = model .. '#' .. name
          end
          saved[name] = tokens[at]
        end
      end
      if #names == 0 then return replica, share end
      local best, best_share, gain = nil, nil, 0
      for at, taken in ipairs(redis.call('ZMSCORE', P .. 'ready:' .. model, unpack(replicas))) do
        taken = tonumber(taken or nil)
        local value = taken and taken < 1 and saved[names[at]] - LOAD_TOKENS * (taken - share)
        if value and (value > gain or value == gain and best) then
          best, best_share, gain = replicas[at], taken, value
        end
      end
      if not best then return replica, share end
      return best, best_share, true
    end,

    -- Write that a replica is given these prefixes. A prefix that another one has displaced displaces it only if no
    -- longer one is known, which leads to the replica as well, or if it is the first, which other requests share.
    note = function(replica)
      local own, changes, known = string.sub(replica, #model + 2), {}, 0
      for at in ipairs(fields) do
        if holders_of(at)() then known = at end
      end
      for at, field in ipairs(fields) do
        local names = { tags[at], own }
        for name in holders_of(at) do
          if name ~= own and #names <= MAX_HOLDERS then names[#names + 1] = name end
        end
        if at == 1 or at > known or holders_of(at)() then
          changes[#changes + 1] = field
          changes[#changes + 1] = table.concat(names, ' ')
        end
      end
      redis.call('HSET', key, unpack(changes))
    end,
  }
end
