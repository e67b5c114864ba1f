\set customer random(1, :customers)
SELECT p.id, p.ordered_at, p.total FROM purchase p WHERE p.customer_id = :customer ORDER BY p.ordered_at DESC LIMIT 10;
