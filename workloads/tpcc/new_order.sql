\set w random(1, :warehouses)
\if :home = 'fixed' or :think
  \set w :client_id % :warehouses + 1
\endif
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set lines random(5, 15)
\set local 1
\for i 1 :lines
  \set item[:i] ((random(0, 8191) | random(1, 100000)) + 7911) % 100000 + 1
  \set supplier[:i] :w
  \set quantity[:i] random(1, 10)
  \if :warehouses > 1 and random(1, 100) = 1
    \set supplier[:i] (:w + random(0, :warehouses - 2)) % :warehouses + 1
    \set local 0
  \endif
\endfor
-- One order of a hundred ends with an item that there is not, and is undone.
\if random(1, 100) = 1
  \set item[:lines] 100001
\endif
BEGIN;
SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = :w AND c_w_id = w_id AND c_d_id = :d AND c_id = :c \gset
SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = :w AND d_id = :d FOR UPDATE \gset
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d;
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  VALUES (:w, :d, :d_next_o_id, :c, CURRENT_TIMESTAMP, NULL, :lines, :local);
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (:w, :d, :d_next_o_id);
\for i 1 :lines
  SELECT i_price, i_name, i_data FROM item WHERE i_id = :item[:i] \gset
  \if :returned = 0
    \rollback
  \endif
  SELECT s_quantity, s_data,
    CASE 0 + :d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
      WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
    FROM stock WHERE s_w_id = :supplier[:i] AND s_i_id = :item[:i] FOR UPDATE \gset
  \set left case when :s_quantity >= :quantity[:i] + 10 then :s_quantity - :quantity[:i] else :s_quantity - :quantity[:i] + 91 end
  \set remote case when :supplier[:i] = :w then 0 else 1 end
  UPDATE stock SET s_quantity = :left, s_ytd = s_ytd + :quantity[:i], s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote
    WHERE s_w_id = :supplier[:i] AND s_i_id = :item[:i];
  \set amount :i_price * :quantity[:i]
  INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
    VALUES (:w, :d, :d_next_o_id, :i, :item[:i], :supplier[:i], NULL, :quantity[:i], :amount, :dist);
\endfor
COMMIT;
