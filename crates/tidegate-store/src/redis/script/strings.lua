-- State that is one string. It ends with the second until which its key lives. To set a key's time to live costs the server as much as to
-- write its value, so it is set with some to spare, and while it is long enough only the value is written, in place.

-- `fields` is what stands before that second, `lives_until` the second that was read; 0 if nothing was.
local function save(key, fields, fresh_at, lives_until)
  if lives_until * 1000000 >= fresh_at + SKEW then
    -- It was there when this script began, and the server lets nothing expire while a script runs.
    call('SETRANGE', key, '0', fields)
    return
  end
  local spare = (fresh_at - now) / 4 + SKEW
  local second = floor((fresh_at + SKEW + spare) / 1000000) + 1
  call('SET', key, fields .. pack('<I4', second), 'PX', second * 1000 - floor(now / 1000))
end
