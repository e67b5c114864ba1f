-- `sysbench.rand`: the numbers come from the client's own stream on the Rust side. Arguments are looked at here, because
-- an error raised there would reach the script as something else than text.
local core = ...

local host = core.host
local type, error, tonumber, format = type, error, tonumber, string.format

local rand = {}
core.sysbench.rand = rand

local function number(value, place)
   if type(value) == "number" and value == value then
      return value
   elseif type(value) == "cdata" then
      return tonumber(value)
   end
   error(format("bad argument #%d (cannot convert '%s' to a number)", place, type(value)), 3)
end

local function ranged(draw)
   return function(low, high)
      if type(low) ~= "number" or type(high) ~= "number" then
         low, high = number(low, 1), number(high, 2)
      end
      return draw(low, high)
   end
end

for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian" } do
   rand[name] = ranged(host["rand_" .. name])
end

rand.unique = host.rand_unique
rand.uniform_double = host.rand_double

-- All 64 bits, where the foreign function interface gives a type for them.
function rand.uniform_uint64()
   local high, low = host.rand_halves()
   local whole = core.uint64
   return whole and whole(high) * 2 ^ 32 + whole(low) or high * 2 ^ 32 + low
end

function rand.string(template)
   if type(template) ~= "string" then
      error(format("bad argument #1 to 'string' (a template must be a string, not a %s)", type(template)), 2)
   end
   return host.rand_string(template)
end
