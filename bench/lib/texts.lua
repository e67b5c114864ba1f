-- A transaction of many statements whose texts are made anew each time, as scripts for TPC-C write them: what the script costs.

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE item (id INT PRIMARY KEY, price DECIMAL(5, 2), name VARCHAR(24))")
   con:query("CREATE TABLE stock (id INT PRIMARY KEY, quantity INT, info VARCHAR(24))")
   con:query("CREATE TABLE line (item INT, quantity INT, amount DECIMAL(8, 2), info VARCHAR(24))")
   for id = 1, 1000 do
      con:query(string.format("INSERT INTO item VALUES (%d, %f, 'item %d')", id, id / 100, id))
      con:query(string.format("INSERT INTO stock VALUES (%d, 100000000, 'shelf %d')", id, id))
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   con:query("BEGIN")
   for _ = 1, 10 do
      local id = sysbench.rand.uniform(1, 1000)
      local price = con:query_row(([[SELECT price, name
                                       FROM item
                                      WHERE id = %d]]):format(id))
      local quantity, info = con:query_row(([[SELECT quantity, info
                                                FROM stock
                                               WHERE id = %d FOR UPDATE]]):format(id))
      con:query(([[UPDATE stock
                      SET quantity = %d
                    WHERE id = %d]]):format(quantity - 5, id))
      con:query(([[INSERT INTO line (item, quantity, amount, info)
                   VALUES (%d, %d, %f, '%s')]]):format(id, 5, 5 * price, info))
   end
   con:query("COMMIT")
end

function thread_done()
   con:disconnect()
end
