-- The foreign function interface, as scripts of sysbench use it: declarations may be repeated by each client, what would
-- block the thread with all its clients gives way to them, and sysbench's own counters are there.
local core = ...

local ask, OP = core.ask, core.op
local base = core.base

-- A 64-bit literal makes LuaJIT load the interface, and register it as a module.
loadstring("return 0ULL")
local real = package.loaded.ffi

-- Gives way for some time.
function core.sleep(seconds)
   seconds = tonumber(seconds)
   if seconds and seconds > 0 then
      ask(OP.SLEEP, seconds)
   end
   return 0
end

-- `sleep 0.5` as a command of the shell is as common in scripts as it would be harmful.
local execute = os.execute
function os.execute(command)
   local seconds = type(command) == "string" and command:match("^%s*sleep%s+(%d*%.?%d+)%s*$")
   if seconds then
      return core.sleep(seconds)
   end
   return execute(command)
end

if real then
   core.uint64 = real.typeof("uint64_t")
   real.cdef [[
typedef enum {
   SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_RECONNECT, SB_CNT_ERROR, SB_CNT_BYTES_READ, SB_CNT_BYTES_WRITTEN,
   SB_CNT_MAX
} sb_counter_type;
]]
   local known = {}

   local functions = {
      usleep = function(us)
         return core.sleep(tonumber(us) / 1e6)
      end,
      sleep = core.sleep,
      poll = function(fds, count, ms)
         if fds == nil then
            return core.sleep(tonumber(ms) / 1e3)
         end
         return real.C.poll(fds, count, ms)
      end,
      -- For scripts with a thread_run of their own. The engine says when the next event begins, and when there is none.
      sb_more_events = function()
         return true
      end,
      sb_event_start = function()
      end,
      sb_event_stop = function()
         ask(OP.EVENT_DONE, false)
      end,
      sb_counter_inc = function(_, kind)
         ask(OP.COUNT, tonumber(kind), 1)
      end,
      sb_counter_add = function(_, kind, count)
         ask(OP.COUNT, tonumber(kind), tonumber(count))
      end,
   }

   local ffi = setmetatable({
      C = setmetatable({}, {
         __index = function(_, name)
            return functions[name] or real.C[name]
         end,
         __newindex = function(_, name, value)
            real.C[name] = value
         end,
      }),
      -- Every client declares the same; a type may be declared once.
      cdef = function(text, ...)
         if select("#", ...) > 0 then
            return real.cdef(text, ...)
         end
         if not known[text] then
            real.cdef(text)
            known[text] = true
         end
      end,
   }, { __index = real })
   core.shared_modules.ffi = ffi
   base.ffi = ffi
end
