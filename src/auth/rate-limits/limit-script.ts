/**
 * The Lua script that checks limits. Runs on Redis 7 and on the embedded server. One call checks many requests in order
 * and reads only Redis' clock, so processes with different clocks agree.
 *
 * A window is a hash: `used`, `oldest` (number of the oldest bucket), `last` (time of the last admission) and one field
 * per bucket, whose value is `count * width + offset`, where `offset` is the time of the bucket's last admission within
 * it. A whole bucket stops counting one span after that admission, so every admission counts for at least the span.
 * A slot set is a sorted set: member is the slot's id, score the end of its lease.
 *
 * KEYS     windows and slot sets
 * ARGV[1]  JSON [nonce, lease, spans, freed, refunds, held, plans, requests, look]
 *            lease     milliseconds
 *            spans     per key: milliseconds of the window, 0 for a slot set
 *            freed     each [key, member, member, ...]: slots that end; key is a position in KEYS from 1
 *            refunds   [key, bucket, amount, ...]: returned to a bucket; a negative amount is taken in addition
 *            held      each [key, member, member, ...]: slots whose lease is renewed
 *            plans     each [key, limit, counts, key, limit, counts, ...]; counts is 1 for tokens, 0 for requests
 *            requests  each [plan, member, tokens]; plan is a position in plans from 1
 *            look      true: dry run, nothing is written
 * Returns  JSON [nonce, now, results], per request [verdict, wait, remaining, reset, remaining, reset, ...]
 *            verdict   0: admitted; n: refused by its n-th check, which has the longest wait; -1: a key is unreadable
 *            wait      milliseconds after which the checks that refused it would admit it
 */
export const BUCKETS_PER_WINDOW = 50;

export const LIMIT_SCRIPT = `
local BUCKETS = ${BUCKETS_PER_WINDOW}
local SLOT_WAIT = 1000
local nonce, lease, spans, freed, refunds, held, plans, requests, look = unpack(cjson.decode(ARGV[1]))
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(value) return string.format('%.0f', value) end

-- A key of another type spoils its own requests; any other failure spoils the call.
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then return nil end
    error(reply.err)
  end
  return reply
end

local function drop_dead_buckets(window)
  local horizon = window.at - window.span
  local newest = math.floor(horizon / window.width)
  if window.oldest > newest then return end
  local names = {}
  for bucket = window.oldest, newest do names[#names + 1] = int(bucket) end
  local values = redis.call('HMGET', window.key, unpack(names))
  local first = window.oldest
  window.oldest = newest + 1
  for index, name in ipairs(names) do
    local value = tonumber(values[index])
    local bucket = first + index - 1
    if value and bucket * window.width + value % window.width > horizon then
      window.oldest = bucket
    elseif value then
      window.used = window.used - math.floor(value / window.width)
      window.dead[#window.dead + 1] = name
    end
  end
end

local function read_window(key, span)
  local width = span / BUCKETS
  local current = math.floor(now / width)
  local stored = try('HMGET', key, 'used', 'oldest', 'last', int(current))
  if not stored then return { broken = true } end
  local last = tonumber(stored[3])
  local window = { key = key, span = span, width = width, at = now, current = current, added = 0, dead = {}, exists = last ~= nil }
  if not last or last <= now - span or last > now + span then
    window.stale, window.used, window.oldest, window.last, window.value = true, 0, current, now, 0
    return window
  end
  window.used, window.oldest, window.last = tonumber(stored[1]), tonumber(stored[2]), last
  window.value = tonumber(stored[4]) or 0
  if last > now then
    -- Another Redis' clock was ahead: time stands still for this window until ours is there too.
    window.at, window.current = last, math.floor(last / width)
    window.value = tonumber(redis.call('HGET', key, int(window.current))) or 0
  end
  drop_dead_buckets(window)
  return window
end

local function read_slots(key)
  local used = try('ZCOUNT', key, '(' .. int(now), '+inf')
  if not used then return { broken = true } end
  return { key = key, span = 0, used = used, members = {} }
end

local counters = {}
local function counter_of(index)
  local counter = counters[index]
  if not counter then
    local span = spans[index]
    counter = span == 0 and read_slots(KEYS[index]) or read_window(KEYS[index], span)
    counters[index] = counter
  end
  return counter
end

-- Milliseconds until the oldest admissions that make up the excess count no more.
local function wait_for(window, excess)
  if not window.values then
    local names = {}
    for bucket = window.oldest, window.current do names[#names + 1] = int(bucket) end
    window.values = redis.call('HMGET', window.key, unpack(names))
  end
  for index, stored in ipairs(window.values) do
    local bucket = window.oldest + index - 1
    if bucket == window.current and window.added > 0 then break end
    local value = tonumber(stored)
    if value then
      excess = excess - math.floor(value / window.width)
      if excess <= 0 then return bucket * window.width + value % window.width + window.span - now end
    end
  end
  return window.at + window.span - now
end

local function refund(window, bucket, amount)
  if window.broken or window.stale or bucket < window.oldest then return end
  local value = tonumber(redis.call('HGET', window.key, int(bucket)))
  if not value then return end
  local given = math.min(amount, math.floor(value / window.width))
  value = value - given * window.width
  redis.call('HSET', window.key, int(bucket), int(value))
  window.used = window.used - given
  window.changed = true
  if bucket == window.current then window.value = value end
end

local function judge(request)
  local plan, member, tokens = plans[request[1]], request[2], request[3]
  local result = { 0, 0 }
  for at = 1, #plan, 3 do
    local counter, limit, cost = counter_of(plan[at]), plan[at + 1], plan[at + 2] == 1 and tokens or 1
    if counter.broken then
      result[1] = -1
    elseif result[1] >= 0 and counter.used + cost > limit then
      local wait = counter.span == 0 and SLOT_WAIT or wait_for(counter, counter.used + cost - limit)
      if wait > result[2] then result[1], result[2] = (at + 2) / 3, wait end
    end
  end
  for at = 1, #plan, 3 do
    local counter, limit, cost = counter_of(plan[at]), plan[at + 1], plan[at + 2] == 1 and tokens or 1
    if result[1] == 0 then
      counter.used = counter.used + cost
      if counter.span == 0 then
        table.insert(counter.members, member)
      else
        counter.added, counter.last = counter.added + cost, counter.at
      end
    end
    local busy = not counter.broken and counter.span > 0 and counter.used > 0
    result[#result + 1] = counter.broken and 0 or math.max(limit - counter.used, 0)
    result[#result + 1] = busy and counter.last + counter.span - now or 0
  end
  return result
end

local function write_window(window)
  if window.added == 0 and not window.changed then return end
  -- Only then: at its memory limit, Redis refuses a script whose first write needs memory, but not one that deletes first.
  if window.stale and window.exists then redis.call('DEL', window.key) end
  if #window.dead > 0 then redis.call('HDEL', window.key, unpack(window.dead)) end
  if window.added > 0 then
    local count = math.floor(window.value / window.width) + window.added
    local value = count * window.width + window.at - window.current * window.width
    redis.call('HSET', window.key, int(window.current), int(value))
  end
  redis.call('HSET', window.key, 'used', int(window.used), 'oldest', int(window.oldest), 'last', int(window.last))
  redis.call('PEXPIRE', window.key, int(2 * window.span))
end

local function hold(key, members)
  local ends = int(now + lease)
  local pairs_of = {}
  for _, member in ipairs(members) do
    pairs_of[#pairs_of + 1] = ends
    pairs_of[#pairs_of + 1] = member
  end
  if not try('ZADD', key, unpack(pairs_of)) then return end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
  redis.call('PEXPIRE', key, int(lease))
end

for _, entry in ipairs(freed) do try('ZREM', KEYS[entry[1]], unpack(entry, 2)) end
for _, entry in ipairs(held) do hold(KEYS[entry[1]], { unpack(entry, 2) }) end
for at = 1, #refunds, 3 do refund(counter_of(refunds[at]), refunds[at + 1], refunds[at + 2]) end
local results = {}
for index, request in ipairs(requests) do results[index] = judge(request) end
if look then return cjson.encode({ nonce, now, results }) end
for _, counter in pairs(counters) do
  if counter.members then
    if #counter.members > 0 then hold(counter.key, counter.members) end
  elseif not counter.broken then
    write_window(counter)
  end
end
return cjson.encode({ nonce, now, results })
`;
