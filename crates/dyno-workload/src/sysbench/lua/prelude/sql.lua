-- `sysbench.sql`: drivers, connections, statements, parameters and results.
local core = ...

local OP, ANSWER = core.op, core.answer
local ask = core.ask
-- What every query of a load passes through does without a call or a look into a table that it can spare. It yields with a fixed
-- number of values, takes a fixed number, and does not pass them on at once: LuaJIT compiles only what stands around such a call.
local yield, QUESTION, EXECUTE, QUERY = coroutine.yield, core.question, OP.EXECUTE, OP.QUERY
local REFUSED, DONE = ANSWER.REFUSED, ANSWER.DONE
local byte, sub, find, format, concat = string.byte, string.sub, string.find, string.format, table.concat
local error, type, tostring, setmetatable, select, unpack = error, type, tostring, setmetatable, select, unpack
local floor, ceil = math.floor, math.ceil

local sql = {
   error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
   type = {
      NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8,
      DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
   },
}
core.sysbench.sql = sql

-- What an answer keeps of its rows.
local NO_ROWS, ALL_ROWS, FIRST_ROW = 0, 1, 2

-- Bytes of a bulk insert after which it is sent, as many as sysbench takes; below any server's usual limit.
local BULK_BYTES_MAX = 512 * 1024

-- As many as the engine can number.
local CONNECTIONS_MAX = 65536

local driver, statement, result = {}, {}, {}
-- As sysbench's connection, it says of the last error what scripts look at that catch it.
local connection = { error = sql.error.NONE, sql_errno = 0, sql_state = "", sql_errmsg = "" }

local function class(name, methods)
   return { __index = methods, __tostring = function() return name end }
end

-- `con.query(…)` has the query where the connection should be: told before anything is taken for what it is not.
local function method(what, self, of)
   if getmetatable(self) ~= of then
      error(format("%s() is called with a colon, as in object:%s()", what, what), 3)
   end
end

-- What sysbench raises where the log has said why.
local API_ERROR = "SQL API error"

local driver_class = class("<sql_driver>", driver)
local connection_class = class("<sql_connection>", connection)
local statement_class = class("<sql_statement>", statement)
local result_class = class("<sql_result>", result)

-- Drivers -------------------------------------------------------------------------------------------------------------

local the_driver = setmetatable({}, driver_class)

function sql.driver(name)
   local why = core.setup.no_driver
   if name ~= nil and name ~= core.setup.driver then
      why = format("invalid database driver name: '%s'", tostring(name))
      if name == "mysql" or name == "pgsql" then
         why = format("%s (this run speaks to %s)", why, core.setup.driver)
      end
   end
   if why then
      core.host.log_fatal(why)
      error("failed to initialize the DB driver", 2)
   end
   core.host.note_driver()
   return the_driver
end

function driver:name()
   return core.setup.driver
end

-- The engine knows a client's connections by numbers. That of a connection which the script has closed, or lost sight of, is
-- the next one's: opening it closes one that was lost sight of.
local function give_back(lease)
   if lease.number then
      table.insert(lease.client.free_numbers, lease.number)
      lease.number = nil
   end
end

local function leased(client)
   local number = table.remove(client.free_numbers)
   if not number then
      if client.connections == CONNECTIONS_MAX then
         error("too many open connections of one thread", 3)
      end
      number = client.connections
      client.connections = number + 1
   end
   local lease, watched = { client = client, number = number }, newproxy(true)
   getmetatable(watched).__gc = function() give_back(lease) end
   return number, lease, watched
end

function driver:connect()
   method("connect", self, driver_class)
   local client = core.current
   local number, lease, watched = leased(client)
   client.used = nil
   if ask(OP.CONNECT, number) == ANSWER.REFUSED then
      give_back(lease)
      error("connection creation failed", 2)
   end
   local made = setmetatable({ client = client, number = number, lease = lease, watched = watched }, connection_class)
   client.used = made
   return made
end

-- Has the next question go to this connection. Where it stands, nothing is asked.
local function use(self)
   if self and core.current.used == self then
      return
   end
   if getmetatable(self) ~= connection_class then
      error("a method of a connection is called with a colon, as in connection:query()", 3)
   end
   local client = self.client
   if client.used ~= self then
      if self.closed then
         core.host.log_alert("attempt to use an already closed connection")
         -- The script's line, also where pcall stands between.
         local caller = core.host.getinfo(3)
         error(API_ERROR, caller and caller.currentline < 0 and 4 or 3)
      end
      ask(OP.USE, self.number)
      client.used = self
   end
end

-- Errors --------------------------------------------------------------------------------------------------------------

function core.sql_error_text(failure)
   return format("SQL error, errno = %d, state = '%s': %s", tonumber(failure.sql_errno) or 0,
      tostring(failure.sql_state), tostring(failure.sql_errmsg))
end

-- A connection as the error hook gets it: as in sysbench a pointer, which a script that prints tables shows as a name. It has the
-- fields and methods of the connection and equals it. Where there is no foreign function interface, it is the connection.
loadstring("return 0ULL")
local ffi = package.loaded.ffi
-- Each is the other's for as long as the script holds both.
local connection_of, pointer_of = setmetatable({}, { __mode = "kv" }), setmetatable({}, { __mode = "k" })
local pointer_to = function(self) return self end
if ffi then
   local pointer = ffi.metatype(ffi.typeof("struct {}"), {
      __index = function(self, name)
         local value = connection_of[self][name]
         if type(value) ~= "function" then
            return value
         end
         return function(given, ...) return value(connection_of[given] or given, ...) end
      end,
      __newindex = function(self, name, value) connection_of[self][name] = value end,
      __eq = function(one, other)
         return (connection_of[one] or one) == (connection_of[other] or other)
      end,
      __tostring = connection_class.__tostring,
   })
   pointer_to = function(self)
      local made = pointer_of[self]
      if not made then
         made = pointer()
         connection_of[made], pointer_of[self] = self, made
      end
      return made
   end
end

-- Raises what the server refused. What is to be ignored is raised as a table that restarts the event; all else names the
-- line of the script that stands `level` calls above. `query` is its text, or the statement that was prepared or executed.
local function refuse(level, self, query, ignorable, errno, state, message, open)
   local called = "query"
   self.sql_errno, self.sql_state, self.sql_errmsg = errno, state, message
   if type(query) == "table" then
      called, query = query.prepared and "execute" or "prepare", query.query
   end
   local failure = {
      connection = pointer_to(self), query = query, sql_errno = errno, sql_state = state, sql_errmsg = message,
   }
   if not ignorable then
      -- Before the hook, and whatever it says.
      core.host.log_refusal(called, core.setup.mysql, errno, message, query or "")
      self.error = sql.error.FATAL
      if called == "prepare" then
         error(API_ERROR, level)
      end
      local hook = core.current.env.sysbench.hooks.sql_error_ignorable
      ignorable = type(hook) == "function" and hook(failure)
   end
   if ignorable then
      self.error = sql.error.IGNORABLE
      if open then
         ask(OP.ROLLBACK)
      end
      failure.errcode = core.sysbench.error.RESTART_EVENT
      error(failure, 0)
   end
   error(core.sql_error_text(failure), level)
end

local function check_text(query, what)
   if type(query) ~= "string" then
      error(format("bad argument to '%s': a query must be a string, not a %s", what, type(query)), 3)
   end
end

-- Connections ---------------------------------------------------------------------------------------------------------

-- Where a query's caller stands above `refuse`, if what passes the answer on is tail-called.
local CALLER = 3

-- What a statement without a result gives: as in sysbench, a pointer that equals nil and yet counts as true, and has a result's
-- methods. Where there is no foreign function interface, it is nil.
local no_result
if ffi then
   local pointed = ffi.typeof("struct {}")
   ffi.metatype(pointed, {
      __index = function(_, name)
         return result[name]
         or error(format("'%s' of the result of a statement that returns no rows", tostring(name)), 2)
      end,
      __tostring = result_class.__tostring,
   })
   no_result = ffi.cast(ffi.typeof("$ *", pointed), nil)
end

-- What a script gets that looks at no result.
local some_result = setmetatable({ nrows = 0, nfields = 0, at = 1 }, result_class)

local function result_of(self, query, code, nrows, nfields, rows, message, open)
   if code == REFUSED then
      refuse(CALLER, self, query, nrows, nfields, rows, message, open)
   end
   if not core.make_results then
      return code == DONE and no_result or some_result
   end
   if code == DONE then
      self.result = nil
      return no_result
   end
   local made = setmetatable({ connection = self, nrows = nrows, nfields = nfields, rows = rows, at = 1 }, result_class)
   self.result = made
   return made
end

-- The row that begins at `at`, and where the next one does. Rows lie in one string: before each value stand four bytes, its
-- length plus one, or zero for NULL.
local function row_at(rows, at, nfields)
   if not rows or at > #rows then
      return nil, at
   end
   local row = {}
   for i = 1, nfields do
      local a, b, c, d = byte(rows, at, at + 3)
      local length = ((d * 256 + c) * 256 + b) * 256 + a
      at = at + 4
      if length > 0 then
         row[i] = sub(rows, at, at + length - 2)
         at = at + length - 1
      end
   end
   return row, at
end

local function first_row_of(self, query, code, nrows, nfields, rows, message, open)
   if code == REFUSED then
      refuse(CALLER, self, query, nrows, nfields, rows, message, open)
   end
   local row = row_at(rows, 1, nfields)
   if row then
      return unpack(row, 1, nfields)
   end
   return nil
end

function connection:query(query)
   use(self)
   check_text(query, "query")
   local code, nrows, nfields, rows, message, open =
      yield(QUESTION, QUERY, core.keep_rows and ALL_ROWS or NO_ROWS, query)
   return result_of(self, query, code, nrows, nfields, rows, message, open)
end

function connection:query_row(query)
   use(self)
   check_text(query, "query_row")
   local code, nrows, nfields, rows, message, open = yield(QUESTION, QUERY, FIRST_ROW, query)
   return first_row_of(self, query, code, nrows, nfields, rows, message, open)
end

-- A query whose result nobody gets: sysbench's `db_query` returns nothing.
local function nothing_of(self, query, code, ignorable, errno, state, message, open)
   if code == REFUSED then
      refuse(CALLER, self, query, ignorable, errno, state, message, open)
   end
end

function core.query_for_nothing(self, query)
   use(self)
   check_text(query, "db_query")
   local code, ignorable, errno, state, message, open = yield(QUESTION, QUERY, NO_ROWS, query)
   return nothing_of(self, query, code, ignorable, errno, state, message, open)
end

function connection:disconnect()
   method("disconnect", self, connection_class)
   if self.closed then
      core.host.log_alert("attempt to close an already closed connection")
      return true
   end
   self.closed = true
   self.client.used = nil
   ask(OP.DISCONNECT, self.number)
   give_back(self.lease)
   return true
end

function connection:reconnect()
   method("reconnect", self, connection_class)
   local client = self.client
   if self.closed then
      self.number, self.lease, self.watched = leased(client)
      self.closed = false
   end
   client.used = nil
   local code, ignorable, errno, state, message = ask(OP.RECONNECT, self.number)
   if code == ANSWER.REFUSED then
      refuse(CALLER, self, nil, ignorable, errno, state, message)
   end
   client.used = self
   return true
end

function connection:bulk_insert_init(query)
   use(self)
   check_text(query, "bulk_insert_init")
   self.bulk = { head = query, values = {}, count = 0, bytes = #query }
   return true
end

local function flush(self)
   local bulk = self.bulk
   if bulk.count > 0 then
      local query = bulk.head .. " " .. concat(bulk.values, ",", 1, bulk.count)
      bulk.count, bulk.bytes = 0, #bulk.head
      local code, ignorable, errno, state, message, open = ask(OP.QUERY, NO_ROWS, query)
      if code == ANSWER.REFUSED then
         refuse(CALLER + 1, self, query, ignorable, errno, state, message, open)
      end
   end
end

function connection:bulk_insert_next(value)
   use(self)
   check_text(value, "bulk_insert_next")
   local bulk = self.bulk
   if not bulk then
      core.host.log_alert("attempt to call bulk_insert_next() before bulk_insert_init()")
      self.error = sql.error.FATAL
      error("db_bulk_insert_next() failed", 2)
   end
   if bulk.bytes + #value + 1 > BULK_BYTES_MAX then
      flush(self)
   end
   local count = bulk.count + 1
   bulk.values[count] = value
   bulk.count, bulk.bytes = count, bulk.bytes + #value + 1
   return true
end

function connection:bulk_insert_done()
   use(self)
   -- A thread that came to no row has nothing to send.
   if not self.bulk then
      return true
   end
   flush(self)
   self.bulk = nil
   return true
end

-- Statements ----------------------------------------------------------------------------------------------------------

-- MySQL's number for a statement that its prepared protocol does not know.
local ER_UNSUPPORTED_PS = 1295

-- Calls `visit(from, to)` for every `?` that is a parameter: not in quotes and not in a comment.
local function pieces_of(query)
   local pieces, from, at = {}, 1, 1
   while true do
      local mark = find(query, "[?'\"`%-/#]", at)
      if not mark then
         break
      end
      local what = sub(query, mark, mark)
      at = mark + 1
      if what == "?" then
         pieces[#pieces + 1] = sub(query, from, mark - 1)
         from = at
      elseif what == "-" then
         at = sub(query, mark, mark + 1) == "--" and (find(query, "\n", at, true) or #query + 1) or at
      elseif what == "/" then
         at = sub(query, mark, mark + 1) == "/*" and (find(query, "*/", at, true) or #query + 1) or at
      elseif what == "#" then
         at = core.setup.mysql and (find(query, "\n", at, true) or #query + 1) or at
      else
         at = (find(query, what, at, true) or #query) + 1
      end
   end
   pieces[#pieces + 1] = sub(query, from)
   return pieces
end

-- With PostgreSQL's numbered placeholders.
local function numbered(pieces)
   local parts = { pieces[1] }
   for i = 2, #pieces do
      parts[#parts + 1] = "$" .. (i - 1)
      parts[#parts + 1] = pieces[i]
   end
   return concat(parts)
end

-- Pieces are the same for all clients. A script that never prepares the same twice must not fill the memory with them.
local PIECES_MAX = 4096
local pieces_by_query, pieces_count = {}, 0

local function cached_pieces_of(query)
   local pieces = pieces_by_query[query]
   if not pieces then
      if pieces_count == PIECES_MAX then
         pieces_by_query, pieces_count = {}, 0
      end
      pieces = pieces_of(query)
      pieces_by_query[query] = pieces
      pieces_count = pieces_count + 1
   end
   return pieces
end

function connection:prepare(query)
   use(self)
   check_text(query, "prepare")
   local pieces = cached_pieces_of(query)
   local made = setmetatable({ connection = self, query = query, pieces = pieces, count = #pieces - 1 }, statement_class)
   local client = self.client
   if client.blocking or core.setup.emulates then
      made.emulated = true
      made.prepared = not core.setup.emulates
      return made
   end
   made.handle = table.remove(client.free_handles)
   if not made.handle then
      client.handles = client.handles + 1
      made.handle = client.handles
   end
   local text = core.setup.mysql and query or numbered(pieces)
   local code, ignorable, errno, state, message, open = ask(OP.PREPARE, made.handle, text)
   if code == ANSWER.REFUSED then
      if errno ~= ER_UNSUPPORTED_PS then
         refuse(CALLER, self, made, ignorable, errno, state, message, open)
      end
      made.emulated = true
   else
      made.prepared = true
   end
   return made
end

local INTEGER, DOUBLE, TEXT = {}, {}, {}
local kinds = {
   [sql.type.TINYINT] = INTEGER, [sql.type.SMALLINT] = INTEGER, [sql.type.INT] = INTEGER,
   [sql.type.BIGINT] = INTEGER, [sql.type.FLOAT] = DOUBLE, [sql.type.DOUBLE] = DOUBLE, [sql.type.CHAR] = TEXT,
   [sql.type.VARCHAR] = TEXT,
}
local parameter_classes = {}
for _, kind in ipairs { INTEGER, DOUBLE, TEXT } do
   parameter_classes[kind] = class("<sql_param>", kind)
end

function statement:bind_create(of_type, max_len)
   local kind = kinds[of_type]
   if not kind then
      error("Unsupported argument type: " .. tostring(of_type), 2)
   end
   return setmetatable({ type = of_type, max_len = max_len }, parameter_classes[kind])
end

function statement:bind_param(...)
   method("bind_param", self, statement_class)
   if select("#", ...) == 0 then
      return nil
   end
   self.params = { ... }
   if select("#", ...) ~= self.count then
      error(format("bind_param(): the statement has %d parameters, and %d are given: %s", self.count, select("#", ...),
         self.query), 2)
   end
   return 0
end

local function quoted(text)
   if core.setup.mysql then
      text = text:gsub("[%z\\']", { ["\0"] = "\\0", ["\\"] = "\\\\", ["'"] = "\\'" })
   else
      text = text:gsub("'", "''")
   end
   return "'" .. text .. "'"
end

local function literal(param)
   local value = param.value
   if value == nil then
      return "NULL"
   elseif type(value) == "number" then
      return format("%.0f", value >= 0 and floor(value) or ceil(value))
   end
   return kinds[param.type] == TEXT and quoted(value) or value
end

local function execute_emulated(self, keep)
   local parts, params = { self.pieces[1] }, self.params
   for i = 1, self.count do
      parts[#parts + 1] = literal(params[i])
      parts[#parts + 1] = self.pieces[i + 1]
   end
   local query = concat(parts)
   return result_of(self.connection, self.prepared and self or query, ask(OP.QUERY, keep, query))
end

function statement:execute()
   if not self or not self.pieces then
      error("execute() of a statement is called with a colon, as in statement:execute()", 2)
   end
   local own, params, count = self.connection, self.params, self.count
   if self.closed then
      error("attempt to use a closed statement", 2)
   end
   use(own)
   if count > 0 and not params then
      error("execute() before bind_param(): " .. self.query, 2)
   end
   local keep = core.keep_rows and ALL_ROWS or NO_ROWS
   if self.emulated then
      return execute_emulated(self, keep)
   end
   local handle = self.handle
   local code, nrows, nfields, rows, message, open
   if count == 1 then
      code, nrows, nfields, rows, message, open = yield(QUESTION, EXECUTE, handle, keep, 1, params[1].value)
   elseif count == 2 then
      code, nrows, nfields, rows, message, open =
         yield(QUESTION, EXECUTE, handle, keep, 2, params[1].value, params[2].value)
   elseif count == 0 then
      code, nrows, nfields, rows, message, open = yield(QUESTION, EXECUTE, handle, keep, 0)
   elseif count == 4 then
      code, nrows, nfields, rows, message, open = yield(QUESTION, EXECUTE, handle, keep, 4, params[1].value, params[2].value,
         params[3].value, params[4].value)
   else
      local values = {}
      for i = 1, count do
         values[i] = params[i].value
      end
      code, nrows, nfields, rows, message, open =
         yield(QUESTION, EXECUTE, handle, keep, count, unpack(values, 1, count))
   end
   return result_of(own, self, code, nrows, nfields, rows, message, open)
end

function statement:close()
   method("close", self, statement_class)
   local client = self.connection.client
   if not self.closed and self.handle then
      ask(OP.FORGET, self.connection.number, self.handle)
      client.free_handles[#client.free_handles + 1] = self.handle
   end
   self.closed = true
   return 0
end

-- Parameters: `value` travels as it stands, so that setting one costs little ------------------------------------------

-- What is no plain number: nil is NULL, 64-bit integers go as their digits.
local function integer_of(value)
   if type(value) == "cdata" then
      local digits = tostring(value):match("^(%-?%d+)U?LL$")
      if digits then
         return digits
      end
   end
   error(format("cannot convert '%s' to an integer", type(value)), 3)
end

-- A number with a fraction loses it on its way out.
function INTEGER:set(value)
   if type(value) ~= "number" and value ~= nil then
      value = integer_of(value)
   end
   self.value = value
end

-- As digits: a double that is whole must still be told from an integer.
function DOUBLE:set(value)
   if value ~= nil then
      local number = tonumber(value) or error(format("cannot convert '%s' to a number", type(value)), 2)
      value = format("%.17g", number)
   end
   self.value = value
end

function TEXT:set(value)
   if type(value) == "number" then
      value = tostring(value)
   elseif value ~= nil and type(value) ~= "string" then
      error(format("cannot convert '%s' to a string", type(value)), 2)
   end
   local max_len = self.max_len
   if value and max_len and #value > max_len then
      value = sub(value, 1, max_len)
   end
   self.value = value
end

function TEXT:set_rand_str(template)
   self:set(core.sysbench.rand.string(template))
end

function INTEGER:set_rand_str()
   error("Unsupported argument type: " .. tostring(self.type), 2)
end
DOUBLE.set_rand_str = INTEGER.set_rand_str

-- Results -------------------------------------------------------------------------------------------------------------

-- The next row as a table of strings, NULL as nil; nil behind the last.
function result:fetch_row()
   local row
   row, self.at = row_at(self.rows, self.at, self.nfields)
   return row
end

-- A result can be freed once, and not behind another query of its connection, as in sysbench. Its rows could still be read.
function result:free()
   if self == some_result then
      return true
   end
   local own = self.connection
   if own.result ~= self then
      core.host.log_alert("attempt to free an invalid result set")
      error("db_free_results() failed", 2)
   end
   own.result, self.rows = nil, nil
   return true
end

core.sql_classes = { connection = connection_class, statement = statement_class, result = result_class }
core.no_result = no_result
core.connection_of = connection_of
