\set account random(1, 100 * :branches)
\set branch (:account - 1) / 100 + 1
\set amount random(1, 9)
BEGIN;
UPDATE account SET balance = balance + :amount WHERE id = :account;
UPDATE branch SET balance = balance + :amount WHERE id = :branch;
INSERT INTO entry (account_id, amount) VALUES (:account, :amount);
COMMIT;
