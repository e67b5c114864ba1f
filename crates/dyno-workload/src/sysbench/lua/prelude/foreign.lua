-- The foreign function interface, as scripts of sysbench use it: declarations may be repeated by each client, what would
-- block the thread with all its clients gives way to them, and sysbench's own counters are there.
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

-- What sysbench exports besides, and what scripts could call.
local NOT_GIVEN = [[
   db_bind_param db_bind_result db_bulk_insert_done db_bulk_insert_init db_bulk_insert_next db_close db_connection_close
   db_connection_create db_connection_free db_connection_reconnect db_create db_describe db_destroy db_done db_execute
   db_fetch_row db_free_results db_prepare db_query db_report_cumulative db_report_intermediate db_store_results
   log_errno log_msg log_text log_timestamp sb_barrier_destroy sb_barrier_init sb_barrier_wait sb_counter_val
   sb_counters_agg_cumulative sb_counters_agg_intermediate sb_find_option sb_get_value_double sb_get_value_flag
   sb_get_value_int sb_get_value_list sb_get_value_size sb_get_value_string sb_histogram_get_pct_checkpoint
   sb_histogram_get_pct_cumulative sb_histogram_get_pct_intermediate sb_report_cumulative sb_report_intermediate
   sb_thread_cancel sb_thread_create sb_thread_join sb_timer_avg sb_timer_checkpoint sb_timer_copy sb_timer_current
   sb_timer_init sb_timer_max sb_timer_merge sb_timer_min sb_timer_reset sb_timer_running sb_timer_sum
]]

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

   -- The end of the script, which no pcall holds up: without the call it would not do what it is to measure.
   for name in NOT_GIVEN:gmatch("%S+") do
      functions[name] = function()
         local place = core.host.traceback("", 2):match("\n%s*([^\n:]+:%d+:)") or ""
         ask(OP.FAILED, format("%s dyno has no C function %s (see docs/lua.md)", place, name), core.current.hook)
      end
   end

   local ffi = setmetatable({
      -- The library itself stands behind it and not a function, so that errors name the script's line.
      C = setmetatable(functions, {
         __index = real.C,
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
