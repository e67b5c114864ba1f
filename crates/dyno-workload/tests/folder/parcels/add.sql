\set id random(1, :parcels)
\set number random(1000, 2000000000)
INSERT INTO piece (parcel_id, number, name, sent, half, weight) VALUES (:id, :number, 'x', NULL, 0, 1);
