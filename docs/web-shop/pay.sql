\set purchase random(1, :orders)
\set id next(payment)
\set amount decimal(random(100, 9999), 2)
BEGIN;
SELECT customer_id AS customer FROM purchase WHERE id = :purchase \gset
INSERT INTO payment (id, purchase_id, paid_at, amount) VALUES (:id, :purchase, CURRENT_TIMESTAMP, :amount);
UPDATE customer SET paid = paid + CAST(:amount AS DECIMAL(10,2)) WHERE id = :customer;
COMMIT;
