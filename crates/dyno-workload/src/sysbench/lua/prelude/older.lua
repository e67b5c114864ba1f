-- Names of sysbench's older versions: functions that work on one connection, which is opened when it is first used.
local core = ...

local base, rand = core.base, core.sysbench.rand

base.sb_rand = rand.default
base.sb_rand_uniform = rand.uniform
base.sb_rand_gaussian = rand.gaussian
base.sb_rand_special = rand.special
base.sb_rand_pareto = rand.pareto
base.sb_rand_str = rand.string

function base.sb_rnd()
   return rand.uniform(0, 2 ^ 32 - 2)
end

-- A number that no other call gives, within bounds if there are any. sysbench draws of all 32 bits until one is within
-- them, which takes seconds for a range of some thousand; here each range has numbers of its own.
function base.sb_rand_uniq(low, high)
   low, high = tonumber(low), tonumber(high)
   if low and high and high >= low then
      low = math.floor(low)
      return core.host.rand_unique_of(low, math.min(math.floor(high) - low, 2 ^ 32 - 1))
   end
   return rand.unique()
end

base.num_threads = 1
base.mysql_table_engine = "innodb"
base.myisam_max_rows = 1000000

local db = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }

local function connected()
   local client = core.current
   if not client.older or client.older.closed then
      local ok, made = pcall(function() return core.sysbench.sql.driver():connect() end)
      if not ok then
         error("Failed to connect to the database", 3)
      end
      client.older = made
   end
   return client.older
end

function db.connect()
   connected()
end

function db.disconnect()
   local open = core.current.older
   if open then
      open:disconnect()
   end
end

-- Tail calls, so that errors name the script's line and not one of these.
function db.query(query)
   return core.query_for_nothing(connected(), query)
end

function db.bulk_insert_init(query)
   return connected():bulk_insert_init(query)
end

function db.bulk_insert_next(value)
   return connected():bulk_insert_next(value)
end

function db.bulk_insert_done()
   return connected():bulk_insert_done()
end

function db.prepare(query)
   return connected():prepare(query)
end

-- Values are looked at when the statement is executed.
function db.bind_param(statement, values)
   local types, params = core.sysbench.sql.type, {}
   for i = 1, statement.count do
      local value = type(values[i]) == "table" and values[i][1] or values[i]
      params[i] = statement:bind_create(type(value) == "number" and types.BIGINT or types.VARCHAR)
   end
   statement.values = values
   return statement:bind_param(unpack(params, 1, statement.count))
end

function db.bind_result()
end

function db.execute(statement)
   for i, param in ipairs(statement.params or {}) do
      local value = statement.values and statement.values[i]
      param:set(type(value) == "table" and value[1] or value)
   end
   return statement:execute()
end

function db.store_results()
end

function db.free_results()
end

function db.close(statement)
   statement:close()
end

core.db = db
for name, value in pairs(db) do
   base[type(value) == "function" and "db_" .. name or name] = value
end
