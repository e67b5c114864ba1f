\set w random(1, :warehouses)
\if :home = 'fixed' or :think
  \set w :client_id % :warehouses + 1
\endif
\set d random(1, 10)
\if :home = 'fixed' or :think
  \set d :client_id / :warehouses % 10 + 1
\endif
\set threshold random(10, 20)
BEGIN;
SELECT d_next_o_id FROM district WHERE d_w_id = :w AND d_id = :d \gset
SELECT COUNT(DISTINCT s_i_id) AS low FROM order_line, stock WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id < :d_next_o_id
  AND ol_o_id >= :d_next_o_id - 20 AND s_w_id = :w AND s_i_id = ol_i_id AND s_quantity < :threshold;
COMMIT;
