-- KEYS: the epoch key, then those of counters, strings first. ARGV: the plan, the store's replication id as the caller knows it, and the
-- one it knew before. The plan is one list of numbers: how many counters are strings; how many limits, and six numbers for each; then
-- what is asked, which differs from script to script.
local plan = cmsgpack.unpack(ARGV[1])
local strings = plan[1]
local limits, cursor = {}, 3
for number = 1, plan[2] do
  limits[number] = { plan[cursor], plan[cursor + 1], plan[cursor + 2], plan[cursor + 3], plan[cursor + 4], plan[cursor + 5] }
  cursor = cursor + 6
end
local values = call('MGET', unpack(KEYS, 1, strings + 1))

-- A master that took over may lack the last writes of the one before. What came of it is noticed by its replication id, and kept
-- beside the counters with the moment it was first seen, so that all instances agree on it.
local CAUTION = 60000000
local empty_since
if ARGV[2] ~= '' then
  local current, since, previous = string.match(values[1] or '', '^(%w+) (%d+) (%w+)$')
  local is_new = ARGV[2] ~= current and ARGV[2] ~= previous
  -- The first to ask had seen no other master; this caller has.
  local was_missed = ARGV[2] == current and since == '0' and ARGV[3] ~= ''
  if is_new or was_missed then
    local before = is_new and current or ARGV[3]
    since = before ~= '' and string.format('%.0f', now) or '0'
    call('SET', KEYS[1], ARGV[2] .. ' ' .. since .. ' ' .. (before ~= '' and before or 'none'))
  end
  since = tonumber(since)
  if since > 0 and now < since + CAUTION then
    empty_since = since
  end
end

-- What is known of each counter in this call, and which differ from what is stored.
local states, dirty = {}, {}

local function state_of(key, limit, cautious)
  local state = states[key]
  if not state then
    state = kinds[limit[1]].load(limit, values[key], cautious and empty_since or nil, KEYS[key])
    states[key] = state
  end
  return state
end

local function write_all()
  for key, kind in pairs(dirty) do
    kind.write(KEYS[key], states[key])
  end
end
