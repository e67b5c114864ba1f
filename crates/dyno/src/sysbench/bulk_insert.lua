-- Rows in INSERTs of many: each thread fills a table of its own, an event is a row.

local function table_of(thread)
   return "sbtest" .. (thread + 1)
end

local function each_table(statement, line)
   local connection = sysbench.sql.driver():connect()
   for thread = 0, sysbench.opt.threads - 1 do
      local name = table_of(thread)
      print(string.format(line, name))
      connection:query(string.format(statement, name))
   end
end

function prepare()
   each_table("CREATE TABLE IF NOT EXISTS %s (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))",
              "Creating table '%s'...")
end

function cleanup()
   each_table("DROP TABLE IF EXISTS %s", "Dropping table '%s'...")
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   rows = 0
end

function event()
   if rows == 0 then
      connection:bulk_insert_init("INSERT INTO " .. table_of(sysbench.tid) .. " VALUES")
   end
   rows = rows + 1
   connection:bulk_insert_next(string.format("(%d, %d)", rows, rows))
end

function thread_done()
   if rows > 0 then connection:bulk_insert_done() end
   connection:disconnect()
end
