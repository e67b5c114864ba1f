\set customer random(1, :customers)
SELECT id, ordered_at, total FROM purchase WHERE customer_id = :customer ORDER BY ordered_at DESC LIMIT 10;
