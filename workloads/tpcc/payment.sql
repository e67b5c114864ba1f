\set w random(1, :warehouses)
\if :home = 'fixed' or :think
  \set w :client_id % :warehouses + 1
\endif
\set d random(1, 10)
\set number ((random(0, 255) | random(0, 999)) + 223) % 1000
\set last choose(:number / 100 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING') || choose(:number / 10 % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING') || choose(:number % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING')
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set by_name random(1, 100) <= 60
\set c_w :w
\set c_d :d
\if :warehouses > 1 and random(1, 100) > 85
  \set c_w (:w + random(0, :warehouses - 2)) % :warehouses + 1
  \set c_d random(1, 10)
\endif
\set amount decimal(random(100, 500000), 2)
BEGIN;
UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w;
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = :w \gset
UPDATE district SET d_ytd = d_ytd + :amount WHERE d_w_id = :w AND d_id = :d;
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = :w AND d_id = :d \gset
\if :by_name
  SELECT COUNT(*) AS same FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_last = :last \gset
  -- The one in the middle, rounded up.
  \set before (:same - 1) / 2
  SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim,
      c_discount, c_balance
    FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_last = :last ORDER BY c_first LIMIT 1 OFFSET :before FOR UPDATE \gset
\else
  SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim,
      c_discount, c_balance
    FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c FOR UPDATE \gset
\endif
\if :c_credit = 'BC'
  SELECT c_data FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c_id \gset
  \set data substr(:c_id || ' ' || :c_d || ' ' || :c_w || ' ' || :d || ' ' || :w || ' ' || :amount || ' | ' || :c_data, 1, 500)
  UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1, c_data = :data
    WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c_id;
\else
  UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c_id;
\endif
\set note :w_name || '    ' || :d_name
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES (:c_id, :c_d, :c_w, :d, :w, CURRENT_TIMESTAMP, :amount, :note);
COMMIT;
