\set pause random(1000, 9000)
BEGIN;
SELECT COUNT(*) AS earlier FROM seen \gset
\sleep :pause us
SELECT COUNT(*) AS later FROM seen \gset
\set growth :later - :earlier
INSERT INTO seen (kind, growth) VALUES ('loose', :growth);
COMMIT;
