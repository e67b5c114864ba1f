-- The statements of oltp_read_write, written as a user of sysbench would: what a script costs beside the builtin.

sysbench.cmdline.options = {
   tables = {"Number of tables", 1},
   table_size = {"Rows of each table", 10000},
}

local texts = {
   point = {"SELECT c FROM sbtest%d WHERE id=?", 1},
   simple = {"SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?", 2},
   sum = {"SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?", 2},
   order = {"SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", 2},
   distinct = {"SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", 2},
   index = {"UPDATE sbtest%d SET k=k+1 WHERE id=?", 1},
   other = {"UPDATE sbtest%d SET c=? WHERE id=?", "text", 1},
   delete = {"DELETE FROM sbtest%d WHERE id=?", 1},
   insert = {"INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)", 2, "text", "text"},
}
local ranges = {"simple", "sum", "order", "distinct"}
local groups = {}
for i = 1, 10 do groups[i] = "###########" end
local c_template = table.concat(groups, "-")
local pad_template = table.concat(groups, "-", 1, 5)

local function prepare_statement(con, table_number, text)
   local made = {stmt = con:prepare(string.format(text[1], table_number)), values = {}}
   for i = 2, #text do
      if text[i] == "text" then
         made.values[#made.values + 1] = made.stmt:bind_create(sysbench.sql.type.CHAR, 120)
      else
         for _ = 1, text[i] do
            made.values[#made.values + 1] = made.stmt:bind_create(sysbench.sql.type.INT)
         end
      end
   end
   made.stmt:bind_param(unpack(made.values))
   return made
end

function thread_init()
   con = sysbench.sql.driver():connect()
   statements = {}
   for number = 1, sysbench.opt.tables do
      statements[number] = {}
      for name, text in pairs(texts) do
         statements[number][name] = prepare_statement(con, number, text)
      end
   end
end

local function any_table()
   return statements[sysbench.rand.uniform(1, sysbench.opt.tables)]
end

local function any_id()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

function event()
   con:query("BEGIN")
   local of = any_table()
   for _ = 1, 10 do
      of.point.values[1]:set(any_id())
      of.point.stmt:execute()
   end
   for _, name in ipairs(ranges) do
      local range = any_table()[name]
      local from = any_id()
      range.values[1]:set(from)
      range.values[2]:set(from + 99)
      range.stmt:execute()
   end
   local index = any_table().index
   index.values[1]:set(any_id())
   index.stmt:execute()
   local other = any_table().other
   other.values[1]:set_rand_str(c_template)
   other.values[2]:set(any_id())
   other.stmt:execute()
   local again = any_table()
   local id = any_id()
   again.delete.values[1]:set(id)
   again.delete.stmt:execute()
   again.insert.values[1]:set(id)
   again.insert.values[2]:set(any_id())
   again.insert.values[3]:set_rand_str(c_template)
   again.insert.values[4]:set_rand_str(pad_template)
   again.insert.stmt:execute()
   con:query("COMMIT")
end

function thread_done()
   for _, of in ipairs(statements) do
      for _, made in pairs(of) do
         made.stmt:close()
      end
   end
   con:disconnect()
end
