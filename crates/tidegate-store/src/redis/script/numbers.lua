-- Everything is counted in whole numbers below 2^53, which doubles hold exactly. Moments are microseconds since the epoch.
local call = redis.call
local floor = math.floor
local pack, unpack_struct = struct.pack, struct.unpack

local ALLOW, DENY, NEVER, LOST = 0, 1, 2, 3
local EXACT = 9007199254740992
-- How far the clocks of a master and its replica may disagree: state lives so much longer than it is needed.
local SKEW = 5000000
-- Spending further ahead than this was written by a clock that was wrong: it counts as absent.
local BACKSTEP = 60000000

-- floor(a * b / c), and whether something is left over. b < c < 2^51, and the result is below 2^53.
local function share(a, b, c)
  local product = a * b
  if product < EXACT then
    local whole = floor(product / c)
    return whole, product > whole * c
  end
  -- The product does not fit: long multiplication, a bit at a time, keeping only what is left of the division.
  local whole, rest, bit = 0, 0, EXACT / 2
  while bit >= 1 do
    whole, rest = whole * 2, rest * 2
    if a >= bit then
      a, rest = a - bit, rest + b
    end
    while rest >= c do
      whole, rest = whole + 1, rest - c
    end
    bit = bit / 2
  end
  return whole, rest > 0
end

local function share_rounded_up(a, b, c)
  local whole, more = share(a, b, c)
  return more and whole + 1 or whole
end

local function ceil_div(a, b)
  return floor((a + b - 1) / b)
end

-- Milliseconds for which a key must live whose state is fresh at `moment`.
local function lifetime(moment)
  return floor((moment - now + SKEW) / 1000) + 1
end
