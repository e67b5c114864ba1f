\set customer :client_id + 1 + 2 * random(0, :customers / 2 - 1)
\set article random_zipfian(1, :articles, 1.2)
\set other random(1, :articles)
\set total decimal(random(99, 99999), 2)
BEGIN;
INSERT INTO purchase (customer_id, ordered_at, total) VALUES (:customer, CURRENT_TIMESTAMP, :total);
SELECT MAX(id) AS purchase FROM purchase WHERE customer_id = :customer \gset
INSERT INTO line (purchase_id, number, article_id, quantity) VALUES (:purchase, 1, :article, 1);
INSERT INTO line (purchase_id, number, article_id, quantity) VALUES (:purchase, 2, :other, 2);
COMMIT;
