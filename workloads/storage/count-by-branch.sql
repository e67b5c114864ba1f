SELECT bid, COUNT(*) AS cnt FROM storage_accounts WHERE abalance <> 0 GROUP BY bid ORDER BY cnt DESC, bid LIMIT 10;
