-- The foreign function interface, as scripts of sysbench use it: declarations may be repeated by each client, what would
-- block the thread with all its clients gives way to them, and functions of sysbench are there.
local core = ...

local ask, OP = core.ask, core.op
local base, rand, format = core.base, core.sysbench.rand, string.format

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
   local known = {}

   -- What a name of the C library stands for; functions are kept, variables are looked at each time.
   local function library(name)
      return real.C[name]
   end

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
      sb_counter_val = function(thread, kind)
         local _, count = ask(OP.COUNTED, tonumber(thread), tonumber(kind))
         return core.uint64(count)
      end,
      sb_print_test_options = function()
         core.current.env.sysbench.cmdline.print_test_options()
      end,
      sb_rand_str = function(template, buffer)
         template = type(template) == "cdata" and real.string(template) or template
         real.copy(buffer, rand.string(template))
      end,
      sb_histogram_new = core.sysbench.histogram.new,
      sb_histogram_update = function(histogram, value)
         histogram:update(value)
      end,
      sb_histogram_print = function(histogram)
         histogram:print()
      end,
      sb_histogram_delete = function()
      end,
   }

   for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique", "uniform_double",
      "uniform_uint64" } do
      functions["sb_rand_" .. name] = rand[name]
   end

   for name, percentile in pairs(core.histogram_percentiles) do
      functions["sb_histogram_get_pct_" .. name] = percentile
   end
   for name, called in pairs(core.exported) do
      functions[name] = called
   end

   -- What of sysbench there is not: the end of the script, which no pcall holds up, because without it the script would not do
   -- what it is to measure. Only its use is: scripts look whether something is there.
   local function refused(name)
      local function refuse()
         local place = core.host.traceback("", 2):match("\n%s*([^\n:]+:%d+:)") or ""
         ask(OP.FAILED, format("%s dyno has no C function %s (see docs/lua.md)", place, name), core.current.hook)
      end
      return setmetatable({}, { __call = refuse, __index = refuse, __newindex = refuse })
   end

   local function found(_, name)
      local ok, value = pcall(library, name)
      if not ok then
         if not name:find("^sb_") and not name:find("^db_") and not name:find("^log_") then
            -- Without the place in this file.
            error((value:gsub("^[^:]*:%d+: ", "")), 2)
         end
         value = refused(name)
      end
      if not ok or tostring(value):find("^cdata<.*%(%)>") then
         rawset(functions, name, value)
      end
      return value
   end

   local ffi = setmetatable({
      C = setmetatable(functions, {
         __index = found,
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
      -- Objects that stand for sysbench's structures give back by themselves what they have.
      gc = function(object, finalizer)
         return type(object) == "table" and object or real.gc(object, finalizer)
      end,
   }, { __index = real })
   core.shared_modules.ffi = ffi
   base.ffi = ffi
end
