BEGIN;
SELECT COUNT(*) AS earlier FROM seen \gset
\sleep 5 ms
SELECT COUNT(*) AS later FROM seen \gset
\set growth :later - :earlier
INSERT INTO seen (kind, growth) VALUES ('steady', :growth);
COMMIT;
