-- wrk: plain requests; with KEYS=n requests that carry n API keys in turn; with BODY a POST of that JSON; with TOKEN a token;
-- with CLOSE a connection for each. The last line is for the bench.
local body, token = os.getenv("BODY"), os.getenv("TOKEN")
if body then
  wrk.method, wrk.body = "POST", body
  wrk.headers["content-type"] = "application/json"
end
if token then wrk.headers["authorization"] = "Bearer " .. token end
if os.getenv("CLOSE") then wrk.headers["connection"] = "close" end
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
