-- Count in all windows or, when one of them has no room, in none.
-- KEYS: one list for each window, of the microseconds at which its units were counted, oldest first; where the
--       start of a page is asked for, also a key and the page.
-- ARGV: now in microseconds ('' asks the server), milliseconds to keep a list beyond its window, bytes of the
--       page's start (0: nothing but counting is asked for), then for each window its limit, its length in
--       seconds and the cost.
-- Gives: the key's value and the page's start where they are asked for; 1 if counted, now, then for each window
--        how much of it is used and its oldest unit (0: none).
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local beyond = tonumber(ARGV[2])
local start = tonumber(ARGV[3])
local windows = (#ARGV - 3) / 3

local stamp = string.format('%.0f', now)

local function push(key, stamps)
  for first = 1, #stamps, 1000 do
    redis.call('RPUSH', key, unpack(stamps, first, math.min(first + 999, #stamps)))
  end
end

-- The clock has stepped back. Move the whole log back with it, its newest unit to now: no unit then leaves
-- before its time, and none stays longer than the window from here.
local function move_back(key, by, seconds)
  local stamps = redis.call('LRANGE', key, 0, -1)
  redis.call('DEL', key)
  for i = 1, #stamps do stamps[i] = string.format('%.0f', stamps[i] - by) end
  push(key, stamps)
  redis.call('PEXPIRE', key, seconds * 1000 + beyond)
end

-- Drop what has left the window; gives the oldest that is left, and how many are. The list is in order, so
-- the edge is found by doubling, then by halving: where counting goes on, few have left since the last time.
local function slide(key, edge)
  local function is_in(place) return tonumber(redis.call('LINDEX', key, place)) > edge end
  local oldest = tonumber(redis.call('LINDEX', key, 0))
  local length = redis.call('LLEN', key)
  if oldest > edge then return oldest, length end
  local low, high = 1, 1
  while high < length and not is_in(high) do low, high = high + 1, math.min(2 * high, length) end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_in(middle) then high = middle else low = middle + 1 end
  end
  redis.call('LTRIM', key, low, -1)
  return tonumber(redis.call('LINDEX', key, 0)), length - low
end

-- Before anything is counted: what cannot be read ends it here.
local reply = {}
if start > 0 then
  reply = {redis.call('GET', KEYS[windows + 1]), redis.call('GETRANGE', KEYS[windows + 2], 0, start - 1)}
end

local used, oldest, room = {}, {}, true
for i = 1, windows do
  local key = KEYS[i]
  local limit, seconds, cost = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3])
  used[i], oldest[i] = 0, 0
  local newest = tonumber(redis.call('LINDEX', key, -1) or nil)
  if newest then
    local edge = now - seconds * 1000000
    if newest > now then move_back(key, newest - now, seconds) end
    if newest <= edge then
      redis.call('DEL', key)
    else
      oldest[i], used[i] = slide(key, edge)
    end
  end
  if used[i] + cost > limit then room = false end
end

reply[#reply + 1] = room and 1 or 0
reply[#reply + 1] = now
for i = 1, windows do
  local key = KEYS[i]
  local seconds, cost = tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3])
  if room and cost > 0 then
    if cost == 1 then
      redis.call('RPUSH', key, stamp)
    else
      local stamps = {}
      for unit = 1, cost do stamps[unit] = stamp end
      push(key, stamps)
    end
    redis.call('PEXPIRE', key, seconds * 1000 + beyond)
    if used[i] == 0 then oldest[i] = now end
    used[i] = used[i] + cost
  end
  reply[#reply + 1] = used[i]
  reply[#reply + 1] = oldest[i]
end
return reply
