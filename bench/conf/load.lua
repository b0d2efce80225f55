-- wrk: plain requests, or with KEYS=n requests that carry n API keys in turn. The last line is for the bench.
local keys = tonumber(os.getenv("KEYS") or "0")
if keys > 0 then
  local requests, turn = {}, 0
  init = function()
    for index = 1, keys do
      requests[index] = wrk.format("GET", "/", { ["x-api-key"] = string.format("key%013d", (index * 7919) % keys) })
    end
  end
  request = function()
    turn = turn % keys + 1
    return requests[turn]
  end
end

done = function(summary, latency)
  local broken = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format("RESULT %d %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), summary.errors.status, broken))
end
