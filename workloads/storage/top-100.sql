SELECT * FROM storage_accounts ORDER BY abalance DESC LIMIT 100;
