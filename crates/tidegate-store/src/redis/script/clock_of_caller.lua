-- For tests: the caller says what time it is.
local now = tonumber(ARGV[4])
