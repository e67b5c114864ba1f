-- Clients of one Lua state: each is a coroutine with globals of its own, which runs the same script.
--
-- What a client wants of the outside it asks by a yield: `core.ask(op, ...)` returns what the Rust side answers. No
-- Rust function ever yields, so that a query may stand within pcall, an iterator or a metamethod. Clients live in a
-- table here and not as handles on the Rust side, which may hold only so many of them in one state.
local core = ...

local OP, ANSWER = core.op, core.answer
local EVENT_DONE = OP.EVENT_DONE
local resume, yield, create = coroutine.resume, coroutine.yield, coroutine.create
local pcall, error, type, select, setmetatable = pcall, error, type, select, setmetatable

-- Tells a question to the Rust side from a script's own yields.
local QUESTION = {}
core.question = QUESTION

function core.ask(...)
   return yield(QUESTION, ...)
end
local ask = core.ask

local clients = {}
core.clients = clients

-- What a script finds beside its own globals.
local base = {}
core.base = base
local globals = { __index = base }
for name, value in pairs(_G) do
   base[name] = value
end

local function copy(source)
   local target = {}
   for key, value in pairs(source) do
      target[key] = value
   end
   return target
end

-- The part of `sysbench` that is the same for all clients; what a script may write to is copied for each.
core.sysbench = {
   version = "1.0.20",
   version_string = "sysbench 1.0.20",
   error = { NONE = 0, RESTART_EVENT = 1 },
   cmdline = {
      ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_INTEGER = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
      ARG_LIST = 6, ARG_FILE = 7, ARG_FILENAME = 7, ARG_MAX = 8,
      PARALLEL_COMMAND = true,
   },
}

-- A user's coroutines pass the questions of what runs in them on to the Rust side.
local function passed_on(coroutine, ok, first, ...)
   if ok and first == QUESTION then
      return passed_on(coroutine, resume(coroutine, yield(QUESTION, ...)))
   end
   return ok, first, ...
end

local function resume_passing_on(coroutine, ...)
   return passed_on(coroutine, resume(coroutine, ...))
end

local function unwrapped(ok, first, ...)
   if not ok then
      error(first, 0)
   end
   return first, ...
end

base.coroutine = copy(coroutine)
base.coroutine.resume = resume_passing_on
base.coroutine.wrap = function(body)
   local coroutine = create(body)
   return function(...)
      return unwrapped(resume_passing_on(coroutine, ...))
   end
end

-- C's output is not buffered, so that lines come out in the order in which they and dyno's own were printed.
local out = io.stdout
out:setvbuf("no")

function core.print_out(text)
   out:write(text)
end

function base.print(...)
   local words = {}
   for i = 1, select("#", ...) do
      words[i] = tostring((select(i, ...)))
   end
   out:write(table.concat(words, "\t"), "\n")
end

-- What of `debug` can be had without letting a script break the interpreter.
base.debug = { traceback = core.host.traceback, getinfo = core.host.getinfo }

-- Globals of a client: its own `sysbench`, and whatever the script will define.
local function environment(client)
   local env = setmetatable({}, globals)
   env._G = env
   local sysbench = copy(core.sysbench)
   sysbench.tid = client.tid
   sysbench.cmdline = copy(sysbench.cmdline)
   sysbench.cmdline.argv = core.setup.argv
   sysbench.cmdline.command = core.setup.command
   sysbench.cmdline.script_path = core.setup.path
   sysbench.rand = copy(sysbench.rand)
   sysbench.sql = copy(sysbench.sql)
   sysbench.hooks = {}
   sysbench.db = core.db
   sysbench.opt = core.setup.options and copy(core.setup.options)
   function sysbench.cmdline.command_defined(name)
      return type((sysbench.cmdline.commands or {})[name]) == "table"
   end
   function sysbench.cmdline.command_parallel(name)
      local command = (sysbench.cmdline.commands or {})[name]
      return type(command) == "table" and command[2] == sysbench.cmdline.PARALLEL_COMMAND
   end
   function sysbench.cmdline.call_command(name)
      local command = (sysbench.cmdline.commands or {})[name]
      if type(command) ~= "table" or type(command[1]) ~= "function" then
         return false
      end
      command[1]()
      return true
   end
   function sysbench.cmdline.print_test_options()
      core.print_out(core.host.list_options(sysbench.cmdline.options) .. "\n")
   end
   env.sysbench = sysbench
   env.thread_id = client.tid
   env.test = core.setup.path
   client.env = env
   core.set_up_chunks(client)
end

-- Options as globals, for scripts that declare none, as those for sysbench 0.5. The script's functions and Lua's libraries
-- keep their names.
local function export_options(env)
   for name, value in pairs(env.sysbench.cmdline.options and {} or core.setup.options or {}) do
      local kind = type(env[name])
      if kind ~= "function" and kind ~= "table" then
         env[name] = value
      end
   end
end

-- Reads the script for this client.
local function read_script(client)
   client.hook = nil
   core.main_chunk(client)
   client.read = true
   export_options(client.env)
end

local function is_restart(failure)
   return type(failure) == "table" and failure.errcode == core.sysbench.error.RESTART_EVENT
end

-- Runs events until one says that the client shall end. A transaction of the engine is one event with its restarts.
local function run_events(client)
   local env, tid = client.env, client.tid
   while true do
      local ok, result = pcall(env.event, tid)
      while not ok do
         if not is_restart(result) then
            error(result, 0)
         end
         local hook = env.sysbench.hooks.before_restart_event
         if hook then
            hook(result)
         end
         -- A rest, or a script that fails without asking anything would hold up the others for ever.
         ask(OP.RESTART)
         ok, result = pcall(env.event, tid)
      end
      yield(QUESTION, EVENT_DONE, result and true or false)
   end
end

local tasks = {}
core.tasks = tasks

-- Everything a client does in a run but its end.
function tasks.load(client)
   local env = client.env
   if env.thread_init then
      client.hook = "thread_init"
      env.thread_init(client.tid)
   end
   ask(OP.READY)
   client.hook = "event"
   if env.thread_run then
      client.hook = "thread_run"
      env.thread_run(client.tid)
      ask(OP.THREAD_DONE)
   end
   run_events(client)
end

-- One function of the script by its name; false where there is none.
function tasks.hook(client, name)
   local hook = client.env[name]
   if type(hook) ~= "function" then
      return false
   end
   client.hook = name
   if name == "thread_done" then
      hook(client.tid)
   else
      hook()
   end
   return true
end

-- A command: from the script's table of them, or the function of that name.
function tasks.command(client, name)
   client.hook = name
   local env = client.env
   if env.sysbench.cmdline.call_command(name) then
      return true
   end
   return tasks.hook(client, name)
end

-- A hook that reports are handed to; false where there is none.
function tasks.report(client, name, stat)
   local hook = client.env.sysbench.hooks[name]
   if type(hook) ~= "function" then
      return false
   end
   client.hook = name
   hook(stat)
   return true
end

function core.spawn(index, tid, blocking)
   local client = { tid = tid, handles = 0, free_handles = {}, connections = 0, free_numbers = {}, blocking = blocking }
   clients[index] = client
   environment(client)
end

function core.set_options(index)
   local env = clients[index].env
   env.sysbench.opt = copy(core.setup.options)
   export_options(env)
end

-- Has a client begin `task`: "load", "hook", "command", "report", or nothing but reading the script.
function core.start(index, task, ...)
   local client = clients[index]
   client.coroutine = create(function(...)
      setfenv(0, client.env)
      if not client.read then
         read_script(client)
      end
      if task then
         return tasks[task](client, ...)
      end
   end)
   return core.resume(index, ...)
end

-- What was raised, in words: strings as they are, and of tables what they say of themselves.
local function words_of(failure)
   if type(failure) == "string" or type(failure) == "number" then
      return tostring(failure)
   end
   if failure == nil then
      return "an error without a message (error() was called with nil)"
   end
   if type(failure) == "table" then
      local message = rawget(failure, "sql_errmsg")
      if type(message) == "string" then
         return core.sql_error_text(failure)
      end
      local described = getmetatable(failure)
      if type(described) == "table" and described.__tostring then
         local ok, text = pcall(tostring, failure)
         if ok and type(text) == "string" then
            return text
         end
      end
      message = rawget(failure, "message") or rawget(failure, "msg") or rawget(failure, 1)
      if type(message) == "string" then
         return message
      end
   end
   if type(failure) == "userdata" then
      local ok, text = pcall(tostring, failure)
      if ok and type(text) == "string" then
         return text
      end
   end
   return "an error that is no text but a " .. type(failure)
end

local function answered(client, ok, first, ...)
   if not ok then
      return OP.FAILED, words_of(first), client.hook
   end
   if first == QUESTION then
      return ...
   end
   if coroutine.status(client.coroutine) == "suspended" then
      return OP.FAILED, "the script yields outside of a coroutine of its own", client.hook
   end
   return OP.ENDED, first
end

-- Goes on with a client: `...` is the answer to what it last asked.
function core.resume(index, ...)
   local client = clients[index]
   core.current = client
   return answered(client, resume(client.coroutine, ...))
end

function core.has(index, name)
   return type(clients[index].env[name]) == "function"
end
