\set customer random(1, :customers)
SELECT name FROM customer WHERE id = :customer;
