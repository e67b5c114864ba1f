\set aid random(1, 100000 * :scale)
SELECT abalance FROM storage_accounts WHERE aid = :aid;
