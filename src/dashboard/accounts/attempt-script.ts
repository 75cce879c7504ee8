/**
 * Counts attempts exactly, also concurrent ones. A log is a sorted set: its members are attempts, their scores the start
 * times. Attempts older than the window of the log do not count.
 *
 * KEYS     logs
 * ARGV     now, id of the attempt, then per log its limit and its window; times in milliseconds
 * Returns  0: the attempt is in every log; n: it is in none, and can be made in n milliseconds
 */
export const ATTEMPT_SCRIPT = `
local now = tonumber(ARGV[1])
local wait = 0
for index, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[index * 2 + 1]), tonumber(ARGV[index * 2 + 2])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window))
  local count = redis.call('ZCARD', key)
  if count >= limit then
    -- There is room as soon as this attempt leaves the window.
    local oldest = redis.call('ZRANGE', key, count - limit, count - limit, 'WITHSCORES')
    wait = math.max(wait, tonumber(oldest[2]) + window - now)
  end
end
if wait > 0 then return wait end
for index, key in ipairs(KEYS) do
  redis.call('ZADD', key, ARGV[1], ARGV[2])
  redis.call('PEXPIRE', key, ARGV[index * 2 + 2])
end
return 0
`;
