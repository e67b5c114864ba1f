\set id random(1, :event.last)
SELECT c.name, c.address, e.action FROM event e LEFT JOIN customer c ON c.id = e.customer_id WHERE e.id = :id;
