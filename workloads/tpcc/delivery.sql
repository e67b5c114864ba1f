\set w random(1, :warehouses)
\if :home = 'fixed' or :think
  \set w :client_id % :warehouses + 1
\endif
\set carrier random(1, 10)
\set delivered 0
BEGIN;
\for d 1 10
  SELECT no_o_id FROM new_order WHERE no_w_id = :w AND no_d_id = :d ORDER BY no_o_id LIMIT 1 FOR UPDATE \gset
  \if :returned = 1
    DELETE FROM new_order WHERE no_w_id = :w AND no_d_id = :d AND no_o_id = :no_o_id;
    \if :affected = 1
      \set delivered :delivered + 1
      -- Locked, because a snapshot of before may not have the order.
      SELECT o_c_id FROM orders WHERE o_w_id = :w AND o_d_id = :d AND o_id = :no_o_id FOR UPDATE \gset
      UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :w AND o_d_id = :d AND o_id = :no_o_id;
      UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :no_o_id;
      UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance
        + (SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :no_o_id)
        WHERE c_w_id = :w AND c_d_id = :d AND c_id = :o_c_id;
    \endif
  \endif
\endfor
COMMIT;
