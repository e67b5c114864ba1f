\set customer random(1, :customers)
\set lines random(1, 4)
\set id next(purchase)
BEGIN;
SELECT name FROM customer WHERE id = :customer;
INSERT INTO purchase (id, customer_id) VALUES (:id, :customer);
\for number 1 :lines
INSERT INTO line (purchase_id, number) VALUES (:id, :number);
\endfor
\if random(1, 5) = 1
\rollback
\endif
COMMIT;
