\set id next(payment)
\set purchase random(1, :purchase.last)
BEGIN;
INSERT INTO payment (id, purchase_id) VALUES (:id, :purchase);
COMMIT;
