-- What people query: one row for each thing of a kind, its fields as columns. Described in docs/store.md.

CREATE VIEW target AS
SELECT run.name AS run,
       body ->> '$.name' AS target,
       body ->> '$.name' AS system,
       body ->> '$.server' AS server,
       body ->> '$.url' AS url,
       body ->> '$.product' AS product,
       body ->> '$.version' AS version,
       body ->> '$.tls' AS tls,
       body ->> '$.same_host' AS same_host,
       body ->> '$.embedded.profile' AS embedded_profile
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'target';

CREATE VIEW host AS
SELECT run.name AS run,
       body -> '$.roles' AS roles,
       body ->> '$.hostname' AS hostname,
       body ->> '$.cpu_model' AS cpu_model,
       body ->> '$.cpus' AS cpus,
       body ->> '$.cpus_limit' AS cpus_limit,
       body ->> '$.memory_bytes' AS memory_bytes,
       body ->> '$.disk_kind' AS disk_kind,
       body ->> '$.filesystem' AS filesystem,
       body ->> '$.kernel' AS kernel,
       body ->> '$.virtualization' AS virtualization
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'host';

CREATE VIEW setting AS
SELECT run.name AS run,
       body ->> '$.target' AS target,
       row.value ->> '$.name' AS name,
       row.value ->> '$.value' AS value,
       row.value ->> '$.unit' AS unit,
       row.value ->> '$.default' AS default_value,
       row.value ->> '$.changed' AS changed,
       row.value ->> '$.durability' AS durability
FROM event JOIN run ON run.id = event.run_id, json_each(body, '$.rows') AS row
WHERE kind = 'settings';

CREATE VIEW data AS
SELECT run.name AS run,
       body ->> '$.target' AS target,
       body ->> '$.workload' AS workload,
       body ->> '$.scale' AS scale,
       body ->> '$.database_bytes' AS database_bytes,
       body ->> '$.cache_bytes' AS cache_bytes,
       body ->> '$.memory_bytes' AS memory_bytes
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'data';

CREATE VIEW prepare_step AS
SELECT run.name AS run,
       body ->> '$.target' AS target,
       body ->> '$.workload' AS workload,
       body ->> '$.step' AS step,
       body ->> '$.seconds' AS seconds,
       body ->> '$.rows' AS rows,
       body ->> '$.bytes' AS bytes
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'prepare';

CREATE VIEW stage AS
SELECT run.name AS run,
       started.body ->> '$.id' AS stage,
       started.at_ms AS started_at_ms,
       started.body ->> '$.target' AS target,
       started.body ->> '$.target' AS system,
       (SELECT body ->> '$.server' FROM event AS described
        WHERE described.run_id = started.run_id AND described.kind = 'target'
              AND described.body ->> '$.name' = started.body ->> '$.target' LIMIT 1) AS server,
       started.body ->> '$.series' AS series,
       coalesce(started.body ->> '$.phase', 0) AS phase,
       coalesce(started.body ->> '$.round', 0) AS round,
       coalesce(started.body ->> '$.step', 0) AS step,
       coalesce(started.body ->> '$.stream', 0) AS stream,
       started.body ->> '$.kind' AS kind,
       started.body ->> '$.workload' AS workload,
       started.body ->> '$.clients' AS clients,
       started.body ->> '$.clients_end' AS clients_end,
       started.body ->> '$.connections' AS connections,
       started.body ->> '$.threads' AS threads,
       started.body ->> '$.protocol' AS protocol,
       started.body ->> '$.arrival' AS arrival,
       started.body ->> '$.rate_per_s' AS rate_per_s,
       started.body ->> '$.rate_end_per_s' AS rate_end_per_s,
       finished.body ->> '$.seconds' AS seconds,
       finished.body ->> '$.complete' AS complete,
       finished.body ->> '$.not_begun' AS not_begun,
       finished.body ->> '$.p50_us' AS p50_us,
       finished.body ->> '$.p90_us' AS p90_us,
       finished.body ->> '$.p99_us' AS p99_us
FROM event AS started JOIN run ON run.id = started.run_id
     LEFT JOIN event AS finished ON finished.run_id = started.run_id
          AND finished.kind = 'stage-finished'
          AND finished.body ->> '$.stage' = started.body ->> '$.id'
WHERE started.kind = 'stage-started';

-- Load second by second, all transaction types together.
CREATE VIEW interval AS
SELECT run.name AS run,
       body ->> '$.stage' AS stage,
       body ->> '$.index' AS number,
       coalesce(body ->> '$.generator', 0) AS generator,
       event.at_ms AS at_ms,
       (body ->> '$.start_ns') / 1e6 AS start_ms,
       (body ->> '$.duration_ns') / 1e6 AS duration_ms,
       body ->> '$.clients' AS clients,
       body ->> '$.drain' AS drain,
       coalesce(sum(type.value ->> '$.done'), 0) AS done,
       coalesce(sum(type.value ->> '$.failed'), 0) AS failed,
       coalesce(sum(type.value ->> '$.unknown'), 0) AS unknown,
       coalesce(sum(type.value ->> '$.retries'), 0) AS retries,
       coalesce(sum(type.value ->> '$.statements'), 0) AS statements,
       coalesce(sum(type.value ->> '$.done'), 0) * 1e9 / nullif(body ->> '$.duration_ns', 0) AS tps,
       body ->> '$.p50_us' AS p50_us,
       body ->> '$.p90_us' AS p90_us,
       body ->> '$.p99_us' AS p99_us,
       body ->> '$.reconnects' AS reconnects,
       body ->> '$.backlog' AS backlog
FROM event JOIN run ON run.id = event.run_id
     LEFT JOIN json_each(body, '$.types') AS type
WHERE event.kind = 'interval'
GROUP BY event.run_id, event.seq;

-- Throughput of each stage, without the drain: what the report's mean is.
CREATE VIEW throughput AS
SELECT run,
       stage,
       sum(done) * 1000.0 / nullif(sum(duration_ms), 0) AS tps,
       sum(done) AS done,
       sum(failed) AS failed
FROM (
    -- A second is as long whether one generator tells of it or several.
    SELECT run, stage, number, sum(done) AS done, sum(failed) AS failed, max(duration_ms) AS duration_ms
    FROM interval
    WHERE NOT drain
    GROUP BY run, stage, number
)
GROUP BY run, stage;

-- Failed and retried statements, second by second.
CREATE VIEW error AS
SELECT run.name AS run,
       body ->> '$.stage' AS stage,
       event.at_ms AS at_ms,
       code.key AS code,
       code.value AS count
FROM event JOIN run ON run.id = event.run_id, json_each(body, '$.errors') AS code
WHERE event.kind = 'interval';

-- Telemetry as read: counters (keys that end in _total) are cumulative.
CREATE VIEW sample AS
SELECT run.name AS run,
       event.at_ms AS at_ms,
       body ->> '$.source' AS source,
       body ->> '$.target' AS target,
       reading.key AS key,
       reading.value AS value
FROM event JOIN run ON run.id = event.run_id, json_each(body, '$.values') AS reading
WHERE event.kind = 'sample';

CREATE VIEW data_check AS
SELECT run.name AS run,
       body ->> '$.target' AS target,
       body ->> '$.workload' AS workload,
       body ->> '$.name' AS name,
       body ->> '$.passed' AS passed,
       body ->> '$.expected' AS expected,
       body ->> '$.found' AS found,
       body ->> '$.detail' AS detail
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'check';

CREATE VIEW finding AS
SELECT run.name AS run,
       body ->> '$.code' AS code,
       body ->> '$.severity' AS severity,
       body ->> '$.about' AS about,
       body ->> '$.target' AS target,
       body ->> '$.system' AS system,
       body ->> '$.server' AS server,
       body ->> '$.series' AS series,
       body ->> '$.stage' AS stage,
       body -> '$.facts' AS facts,
       body ->> '$.evidence' AS evidence,
       body ->> '$.advice' AS advice
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'finding';

CREATE VIEW notice AS
SELECT run.name AS run,
       event.at_ms AS at_ms,
       body ->> '$.target' AS target,
       body ->> '$.stage' AS stage,
       body ->> '$.text' AS text
FROM event JOIN run ON run.id = event.run_id
WHERE kind = 'notice';
