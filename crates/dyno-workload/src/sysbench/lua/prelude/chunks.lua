-- Chunks: the script and the modules it requires. Each is compiled once for the state, as a function that returns the
-- chunk; so every client gets closures of the same prototypes, and traces that the compiler made serve them all.
local core = ...

local error, type, tostring, setfenv = error, type, tostring, setfenv
local loadstring = loadstring
local base = core.base

-- Rows are kept, and results made, for scripts that can look at them. Whether one can is seen by its text.
core.keep_rows, core.make_results = false, false

local function note(text)
   if text:find("fetch_row", 1, true) or text:find("nfields", 1, true) then
      core.keep_rows, core.make_results = true, true
   elseif text:find("nrows", 1, true) or text:find("[.:]free%f[^%w_]") then
      core.make_results = true
   end
end

-- A first line that begins with # is for the shell.
local function without_shebang(text)
   return text:sub(1, 1) == "#" and text:gsub("^[^\n]*", "", 1) or text
end

local compiled = {}

-- The chunk of `text` as a maker of closures, or nil and what is wrong with it.
local function compile(text, name)
   local made = compiled[name]
   if made then
      return made
   end
   text = without_shebang(text)
   -- By itself first: within a function, a chunk with one `end` too many could pass.
   local alone, wrong = loadstring(text, name)
   if not alone then
      return nil, wrong
   end
   note(text)
   made = loadstring("return function(...) " .. text .. "\nend", name)
   -- What cannot stand in a function, for its number of locals say, is compiled for each client.
   made = made and made() and made or function()
      return (loadstring(text, name))
   end
   compiled[name] = made
   return made
end

local function read(path)
   local file, wrong = io.open(path, "rb")
   if not file then
      return nil, wrong
   end
   local text = file:read("*a")
   file:close()
   return text, "cannot read " .. path
end

-- The chunk in a file with the globals of `env`, or nil and what is wrong.
local function chunk_of_file(path, env)
   local make = compiled["@" .. path]
   local wrong
   if not make then
      local text
      text, wrong = read(path)
      if not text then
         return nil, wrong
      end
      make, wrong = compile(text, "@" .. path)
      if not make then
         return nil, wrong
      end
   end
   return setfenv(make(), env)
end

function core.main_chunk(client)
   local make, wrong = compile(core.setup.text, core.setup.name)
   if not make then
      error(wrong, 0)
   end
   setfenv(make(), client.env)()
end

-- The file of a module: the first template of `path` that names one.
local function search(name, path)
   local tried = {}
   local file_name = name:gsub("%.", "/")
   for template in path:gmatch("[^;]+") do
      local file = template:gsub("%?", (file_name:gsub("%%", "%%%%")))
      local handle = io.open(file, "rb")
      -- A directory can be opened, but not be read.
      if handle then
         local _, wrong = handle:read(0)
         handle:close()
         if not wrong then
            return file
         end
      end
      tried[#tried + 1] = "\n\tno file '" .. file .. "'"
   end
   return nil, table.concat(tried)
end

local shared = { _G = false }
for _, name in ipairs { "bit", "debug", "io", "jit", "math", "os", "string", "table" } do
   shared[name] = base[name]
end
shared.coroutine = base.coroutine
core.shared_modules = shared

local function requirer(client, package)
   local function loading() end
   return function(name)
      name = tostring(name)
      local loaded = package.loaded
      if loaded[name] == loading then
         error("loop or previous error loading module '" .. name .. "'", 2)
      end
      if loaded[name] then
         return loaded[name]
      end
      local chunk = package.preload[name]
      if not chunk then
         if type(package.path) ~= "string" then
            error("'package.path' must be a string", 2)
         end
         local file, tried = search(name, package.path)
         if not file then
            error("module '" .. name .. "' not found:\n\tno field package.preload['" .. name .. "']" .. tried
               .. "\n\t(modules in C cannot be loaded)", 2)
         end
         local wrong
         chunk, wrong = chunk_of_file(file, client.env)
         if not chunk then
            -- As in Lua itself: the place that counts is that in the module.
            error("error loading module '" .. name .. "' from file '" .. file .. "':\n\t" .. tostring(wrong), 0)
         end
      end
      loaded[name] = loading
      local result = chunk(name)
      if result ~= nil then
         loaded[name] = result
      elseif loaded[name] == loading then
         loaded[name] = true
      end
      return loaded[name]
   end
end

-- `module(name, ...)` of Lua 5.1: the caller's globals become the module's table.
local function moduler(client, package)
   return function(name, ...)
      local module = package.loaded[name]
      if type(module) ~= "table" then
         module = {}
         local parent, last = client.env, name
         for part, rest in name:gmatch("([^.]+)%.()") do
            parent[part] = type(parent[part]) == "table" and parent[part] or {}
            parent, last = parent[part], name:sub(rest)
         end
         parent[last] = module
         package.loaded[name] = module
      end
      module._M, module._NAME, module._PACKAGE = module, name, name:match("^(.*%.)[^.]*$") or ""
      setfenv(2, module)
      for _, option in ipairs { ... } do
         option(module)
      end
   end
end

-- Gives a client its own `require`, `package`, `load` and their like.
function core.set_up_chunks(client)
   local env = client.env
   local package = {
      path = core.setup.package_path,
      cpath = "",
      config = "/\n;\n?\n!\n-",
      preload = {},
      loaded = setmetatable({ _G = env, sysbench = env.sysbench }, { __index = shared }),
      seeall = function(module)
         setmetatable(module, { __index = env })
      end,
   }
   package.loaded.package = package
   env.package = package
   env.require = requirer(client, package)
   env.module = moduler(client, package)
   function env.loadfile(path)
      return chunk_of_file(path, env)
   end
   function env.dofile(path)
      local chunk, wrong = chunk_of_file(path, env)
      if not chunk then
         error(wrong, 0)
      end
      return chunk()
   end
end

function base.loadstring(text, ...)
   if type(text) == "string" then
      note(text)
   end
   return loadstring(text, ...)
end

local load_pieces = load
function base.load(text, ...)
   if type(text) == "string" then
      note(text)
   else
      core.keep_rows, core.make_results = true, true
   end
   return load_pieces(text, ...)
end
