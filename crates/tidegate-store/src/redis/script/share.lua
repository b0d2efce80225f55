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
