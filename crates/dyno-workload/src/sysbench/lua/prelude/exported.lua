-- sysbench's C functions on databases, as scripts call them through `ffi.C`: they return what failed instead of raising it. What
-- they take and return are the objects of `sysbench.sql`, which have the fields of sysbench's structures. NULL equals nil.
local core = ...

local real = package.loaded.ffi
core.exported = {}
if not real then
   return
end

-- Types that scripts find declared, so that they can declare functions with them, and reserve buffers.
real.cdef [[
typedef enum { DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_FATAL } sql_error_t;
typedef enum {
   SQL_TYPE_NONE, SQL_TYPE_TINYINT, SQL_TYPE_SMALLINT, SQL_TYPE_INT, SQL_TYPE_BIGINT, SQL_TYPE_FLOAT, SQL_TYPE_DOUBLE,
   SQL_TYPE_TIME, SQL_TYPE_DATE, SQL_TYPE_DATETIME, SQL_TYPE_TIMESTAMP, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR
} sql_bind_type_t;
typedef enum {
   SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX,
   SB_CNT_BYTES_READ = 6, SB_CNT_BYTES_WRITTEN
} sb_counter_type;
typedef struct sql_driver sql_driver;
typedef struct sql_connection sql_connection;
typedef struct sql_statement sql_statement;
typedef struct sql_result sql_result;
typedef struct sb_histogram sb_histogram_t;
typedef struct { uint32_t len; const char *ptr; } sql_value;
typedef struct { void *ptr; sql_value *values; } sql_row;
typedef struct {
   sql_bind_type_t type; void *buffer; unsigned long *data_len; unsigned long max_len; char *is_null;
} sql_bind;
]]

local pcall, error, type, tonumber, tostring, format = pcall, error, type, tonumber, tostring, string.format
local sql, NULL = core.sysbench.sql, core.no_result
local NONE, FATAL = sql.error.NONE, sql.error.FATAL
local connection, statement, result = core.sql_classes.connection, core.sql_classes.statement, core.sql_classes.result

-- What a script gives for a text: Lua's, or a pointer, with its length or up to a NUL.
local function text_of(value, length)
   length = length and tonumber(length)
   if type(value) == "cdata" then
      return real.string(value, length)
   end
   return length and value:sub(1, length) or value
end

local function check(what, called, object, class)
   if getmetatable(object) ~= class then
      error(format("bad argument #1 to '%s' (a %s is expected, not a %s)", called, what, type(object)), 3)
   end
end

-- Of a connection, or of the pointer to it that the error hook got.
local function connection_of(name, given)
   local con = core.connection_of[given] or given
   check("connection", name, con, connection)
   return con
end

-- Whether it went well, and what it returns. What is wrong with the script itself is raised.
local function attempt(con, method, ...)
   con.error, con.sql_errno, con.sql_state, con.sql_errmsg = NONE, 0, "", ""
   if con.closed then
      con.error = FATAL
      core.host.log_alert("attempt to use an already closed connection")
      return false
   end
   local ok, returned = pcall(method, ...)
   if not ok and con.error == NONE then
      error(returned, 0)
   end
   return ok, returned
end

local function status(ok)
   return ok and 0 or 1
end

-- A function that takes a connection, and a text if `with_text`. `finish` makes of the outcome what is returned.
local function on_connection(name, method, finish, with_text)
   core.exported[name] = function(con, text, length)
      con = connection_of(name, con)
      return finish(attempt(con, connection.__index[method], con, with_text and text_of(text, length) or nil))
   end
end

local function value_or_null(ok, value)
   if ok then
      return value
   end
   return NULL
end

on_connection("db_query", "query", value_or_null, true)
on_connection("db_prepare", "prepare", value_or_null, true)
on_connection("db_connection_reconnect", "reconnect", status)
on_connection("db_bulk_insert_init", "bulk_insert_init", status, true)
on_connection("db_bulk_insert_next", "bulk_insert_next", status, true)
on_connection("db_bulk_insert_done", "bulk_insert_done", status)

function core.exported.db_create(name)
   local ok, driver = pcall(sql.driver, name ~= nil and text_of(name) or nil)
   return value_or_null(ok, driver)
end

function core.exported.db_destroy()
   return 0
end

function core.exported.db_connection_create(driver)
   local ok, con = pcall(sql.driver().connect, driver)
   return value_or_null(ok, con)
end

function core.exported.db_connection_close(con)
   con = connection_of("db_connection_close", con)
   local was_open = not con.closed
   con:disconnect()
   return status(was_open)
end

function core.exported.db_connection_free(con)
   if con ~= nil and not con.closed then
      con:disconnect()
   end
end

-- How the values of a type stand in a buffer.
local stored = {
   [sql.type.TINYINT] = "int8_t *", [sql.type.SMALLINT] = "int16_t *", [sql.type.INT] = "int32_t *",
   [sql.type.BIGINT] = "int64_t *", [sql.type.FLOAT] = "float *", [sql.type.DOUBLE] = "double *",
}

-- Values are read when the statement is executed.
local function value_of(bind)
   if bind.is_null ~= nil and bind.is_null[0] ~= 0 then
      return nil
   end
   local pointer = stored[tonumber(bind.type)]
   if pointer then
      return real.cast(pointer, bind.buffer)[0]
   end
   return real.string(bind.buffer, tonumber(bind.data_len[0]))
end

function core.exported.db_bind_param(self, binds, count)
   check("statement", "db_bind_param", self, statement)
   local params = {}
   for i = 1, tonumber(count) do
      params[i] = self:bind_create(tonumber(binds[i - 1].type))
   end
   self.binds = binds
   self:bind_param(unpack(params, 1, tonumber(count)))
   return 0
end

function core.exported.db_execute(self)
   check("statement", "db_execute", self, statement)
   for i = 1, self.binds and self.count or 0 do
      self.params[i]:set(value_of(self.binds[i - 1]))
   end
   return value_or_null(attempt(self.connection, statement.__index.execute, self))
end

function core.exported.db_close(self)
   return status(self ~= nil and self:close() == 0)
end

-- Values by their places from 0; each is one with `ptr` and `len`.
function core.exported.db_fetch_row(self)
   check("result", "db_fetch_row", self, result)
   local row = self:fetch_row()
   if not row then
      return NULL
   end
   local values = {}
   for i = 1, self.nfields do
      values[i - 1] = { ptr = row[i], len = row[i] and #row[i] or 0 }
   end
   return { values = values }
end

function core.exported.db_free_results(self)
   return status(getmetatable(self) == result and pcall(result.__index.free, self))
end
