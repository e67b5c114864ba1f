\set w random(1, :warehouses)
\if :home = 'fixed' or :think
  \set w :client_id % :warehouses + 1
\endif
\set d random(1, 10)
\set number ((random(0, 255) | random(0, 999)) + 223) % 1000
\set last choose(:number / 100 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING') || choose(:number / 10 % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING') || choose(:number % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING')
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set by_name random(1, 100) <= 60
BEGIN;
\if :by_name
  SELECT COUNT(*) AS same FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_last = :last \gset
  -- The one in the middle, rounded up.
  \set before (:same - 1) / 2
  SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_last = :last
    ORDER BY c_first LIMIT 1 OFFSET :before \gset
\else
  SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c \gset
\endif
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :w AND o_d_id = :d AND o_c_id = :c_id ORDER BY o_id DESC LIMIT 1 \gset
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :o_id;
COMMIT;
