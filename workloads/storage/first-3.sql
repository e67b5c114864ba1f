-- dyno: compare count only
SELECT * FROM storage_accounts WHERE abalance <> 0 LIMIT 3;
