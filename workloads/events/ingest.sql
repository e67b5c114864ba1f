\set customer random(1, :customers)
\set action pick('login', 'logout', 'search', 'view product', 'add to cart', 'remove from cart', 'check out', 'pay', 'write review', 'subscribe')
INSERT INTO event (customer_id, action) VALUES (:customer, :action);
