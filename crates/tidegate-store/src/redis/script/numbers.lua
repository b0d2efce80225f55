-- Everything is counted in whole numbers below 2^53, which doubles hold exactly. Moments are microseconds since the epoch.
local call = redis.call
local floor = math.floor
local pack, unpack_struct = struct.pack, struct.unpack
-- How to count, by the number of a kind: filled by the files of the kinds that a program has.
local kinds = {}

local ALLOW, DENY, NEVER, LOST = 0, 1, 2, 3
local EXACT = 9007199254740992
-- How far the clocks of a master and its replica may disagree: state lives so much longer than it is needed.
local SKEW = 5000000
-- Spending further ahead than this was written by a clock that was wrong: it counts as absent.
local BACKSTEP = 60000000

-- Milliseconds for which a key must live whose state is fresh at `moment`.
local function lifetime(moment)
  return floor((moment - now + SKEW) / 1000) + 1
end
