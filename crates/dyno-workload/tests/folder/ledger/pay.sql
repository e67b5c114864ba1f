\set id :client_id + 1
BEGIN;
SELECT balance, 0.10 + 0.20 AS fee FROM account WHERE id = :id \gset
\set more :balance + :fee * 2 - decimal(59, 2)
\if :more - :balance = decimal(1, 2) and :fee = decimal(3, 1)
UPDATE account SET balance = :more WHERE id = :id AND balance = :balance;
\endif
COMMIT;
