\set id random(1, :purchase.last)
BEGIN;
DELETE FROM line WHERE purchase_id = :id;
\set lines :affected
DELETE FROM purchase WHERE id = :id;
\set purchases :affected
COMMIT;
