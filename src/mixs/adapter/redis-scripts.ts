/**
 * What runs inside Redis: each script takes an amount or not as one step, by Redis' own clock, so that neither calls at the same time nor
 * clocks that differ let more through. KEYS: the counter, the answer that is remembered. ARGV: amount, most, window (ms), whether less
 * will do, whether to remember, bucket (ms). Gives what was granted and for how many milliseconds.
 */
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  /** By which Redis knows a script that it has seen (EVALSHA). */
  readonly sha1: string;
}

/** Numbers are printed as integers: Lua's own way gives 1e+15. */
const COMMON = `
local amount, most, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local function text(number) return string.format('%.0f', number) end
if ARGV[5] == '1' then
  local known = redis.call('HMGET', KEYS[2], 'granted', 'valid')
  if known[1] then return { known[1], known[2] } end
end
local function grant(used)
  local free = math.max(most - used, 0)
  if amount <= free then return amount end
  if ARGV[4] == '1' then return free end
  return 0
end
local function answer(granted, valid)
  if ARGV[5] == '1' then
    redis.call('HSET', KEYS[2], 'granted', text(granted), 'valid', text(valid))
    redis.call('PEXPIRE', KEYS[2], text(window))
  end
  return { text(granted), text(valid) }
end
`;

/** All is there again when the window is over that the first call began. */
export const FIXED_WINDOW = script(`${COMMON}
local granted = grant(tonumber(redis.call('GET', KEYS[1]) or '0'))
if granted > 0 then
  redis.call('INCRBY', KEYS[1], text(granted))
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], text(window)) end
end
return answer(granted, math.max(redis.call('PTTL', KEYS[1]), 0))
`);

/** What was taken is there again a window after its bucket of time is over: never more than the amount in any window. */
export const ROLLING_WINDOW = script(`${COMMON}
local bucket = tonumber(ARGV[6])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local used, old = 0, {}
local taken = redis.call('HGETALL', KEYS[1])
for i = 1, #taken, 2 do
  if (tonumber(taken[i]) + 1) * bucket > now - window then used = used + tonumber(taken[i + 1]) else table.insert(old, taken[i]) end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end
local granted = grant(used)
if granted > 0 then
  redis.call('HINCRBY', KEYS[1], text(math.floor(now / bucket)), text(granted))
  redis.call('PEXPIRE', KEYS[1], text(window + bucket))
end
return answer(granted, window)
`);

function script(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
