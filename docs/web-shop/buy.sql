\set customer random(1, :customers)
\set article random_zipfian(1, :articles, 1.2)
\set other random(1, :articles)
\set units random(100, 9999)
\set others random(100, 9999)
\set total decimal(:units + :others, 2)
\set amount decimal(:units, 2)
\set second decimal(:others, 2)
\set id next(purchase)
BEGIN;
INSERT INTO purchase (id, customer_id, ordered_at, total) VALUES (:id, :customer, CURRENT_TIMESTAMP, :total);
INSERT INTO line (purchase_id, number, article_id, amount) VALUES (:id, 1, :article, :amount);
INSERT INTO line (purchase_id, number, article_id, amount) VALUES (:id, 2, :other, :second);
COMMIT;
