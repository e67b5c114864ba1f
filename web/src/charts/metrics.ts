// What of a server's telemetry is drawn, in which chart and under which name. A chart is named by its id in the
// page's address.

import type { Colour } from "../theme";

export type Group = "load" | "host" | "database" | "driver";

/** One metric of a chart. With several targets each is a chart of its own, in which every target has a curve. */
export interface Part {
  key: string;
  label: string;
  colour: Colour;
  dash?: number[];
}

export interface MetricChart {
  id: string;
  title: string;
  unit: string;
  group: Group;
  /** Shown unless the reader chooses otherwise. */
  usual: boolean;
  axis: "zero" | "share";
  parts: Part[];
}

const one = (key: string): Part[] => [{ key, label: "", colour: "series-1" }];
const of =
  (group: Group) =>
  (id: string, title: string, unit: string, parts: Part[], rest: Partial<MetricChart> = {}): MetricChart => ({
    id,
    title,
    unit,
    group,
    parts,
    usual: true,
    axis: "zero",
    ...rest,
  });
const [host, database, driver] = [of("host"), of("database"), of("driver")];

/** What goes both ways: written or sent, and read or received. */
const ways = (out: string, back: string, labels: [string, string] = ["written", "read"]): Part[] => [
  { key: out, label: labels[0], colour: "series-2" },
  { key: back, label: labels[1], colour: "series-1", dash: [6, 3] },
];

const SELDOM = { usual: false };

export const METRIC_CHARTS: MetricChart[] = [
  host("server-cpu", "CPU of the server", "cores", one("server_cpu_cores")),
  host(
    "server-cpu-parts",
    "CPU of the server by kind",
    "cores",
    [
      { key: "server_cpu_user_cores", label: "user", colour: "series-1" },
      { key: "server_cpu_system_cores", label: "system", colour: "series-2", dash: [6, 3] },
    ],
    SELDOM,
  ),
  host("server-memory", "Memory of the server", "resident", one("server_memory_bytes")),
  host(
    "operations",
    "Disk operations",
    "per second, of the whole device",
    ways("disk_write_operations_per_s", "disk_read_operations_per_s", ["writes", "reads"]),
  ),
  host(
    "disk",
    "Disk traffic",
    "bytes per second, of the whole device",
    ways("disk_write_bytes_per_s", "disk_read_bytes_per_s"),
  ),
  host(
    "server-disk",
    "Disk traffic of the server",
    "bytes per second",
    ways("server_disk_write_bytes_per_s", "server_disk_read_bytes_per_s"),
    SELDOM,
  ),
  host("disk-busy", "Disk busy", "share of the time", one("disk_busy_share"), { ...SELDOM, axis: "share" }),
  host("disk-queue", "Queue of the disk", "operations under way", one("disk_queue_operations"), SELDOM),
  host("disk-await", "Time of a disk operation", "seconds, mean", one("disk_await_seconds"), SELDOM),
  host("network", "Network", "bytes per second", [
    { key: "network_receive_bytes_per_s", label: "received", colour: "series-1" },
    { key: "network_transmit_bytes_per_s", label: "sent", colour: "series-2", dash: [6, 3] },
  ]),
  host("loopback", "Loopback", "bytes per second, both ways", one("loopback_bytes_per_s"), SELDOM),
  host("throttled", "CPU withheld by a control group", "cores", one("cgroup_throttled_cores"), SELDOM),
  host(
    "server-throttled",
    "CPU withheld from the server",
    "cores",
    one("server_cgroup_throttled_cores"),
    SELDOM,
  ),
  host(
    "group-disk",
    "Disk traffic of the server's control group",
    "bytes per second",
    ways("server_cgroup_disk_write_bytes_per_s", "server_cgroup_disk_read_bytes_per_s"),
    SELDOM,
  ),
  host(
    "group-memory",
    "Memory of the server's control group",
    "with its page cache",
    [
      { key: "server_cgroup_memory_bytes", label: "in use", colour: "series-1" },
      { key: "server_cgroup_memory_limit_bytes", label: "limit", colour: "series-3", dash: [6, 3] },
    ],
    SELDOM,
  ),
  host(
    "pressure",
    "Pressure",
    "share of the time in which something waited",
    [
      { key: "pressure_cpu_share", label: "CPU", colour: "series-1" },
      { key: "pressure_io_share", label: "I/O", colour: "series-2", dash: [6, 3] },
      { key: "pressure_memory_share", label: "memory", colour: "series-3", dash: [2, 2] },
    ],
    { ...SELDOM, axis: "share" },
  ),
  host("memory-free", "Memory available", "of the host", one("memory_available_bytes"), SELDOM),
  database("wal", "WAL or redo log", "bytes per second", one("wal_bytes_per_s")),
  database("cache", "Cache hits", "share of block reads", one("cache_hit_share"), { axis: "share" }),
  database("size", "Database on disk", "bytes", one("database_bytes")),
  database(
    "connections",
    "Sessions at the server",
    "connections",
    [
      { key: "connections_active", label: "active", colour: "series-1" },
      { key: "connections_idle", label: "idle", colour: "series-3", dash: [6, 3] },
      { key: "connections_in_transaction", label: "idle in transaction", colour: "series-2", dash: [2, 2] },
    ],
    SELDOM,
  ),
  database(
    "commits",
    "Commits counted by the database",
    "per second",
    one("transactions_committed_per_s"),
    SELDOM,
  ),
  database(
    "tuples",
    "Rows",
    "per second",
    [
      { key: "tuples_inserted_per_s", label: "inserted", colour: "series-1" },
      { key: "tuples_updated_per_s", label: "updated", colour: "series-2", dash: [6, 3] },
      { key: "tuples_returned_per_s", label: "returned", colour: "series-3", dash: [2, 2] },
    ],
    SELDOM,
  ),
  database("blocks", "Blocks not in the cache", "reads per second", one("blocks_read_per_s"), SELDOM),
  database("flushes", "Pages written from the cache", "per second", one("buffers_written_per_s"), SELDOM),
  database(
    "fsyncs",
    "Syncs",
    "calls per second",
    [
      { key: "wal_fsyncs_per_s", label: "of the log", colour: "series-1" },
      { key: "fsyncs_per_s", label: "of all files", colour: "series-2", dash: [6, 3] },
    ],
    SELDOM,
  ),
  database("checkpoints", "Checkpoints", "begun since the first reading", one("checkpoints"), SELDOM),
  database("deadlocks", "Deadlocks", "per second", one("deadlocks_per_s"), SELDOM),
  database("lock-waits", "Sessions waiting for a lock", "sessions", one("lock_waiting_sessions")),
  database("row-locks", "Waits for row locks", "per second", one("row_lock_waits_per_s"), SELDOM),
  database("temp", "Temporary files", "bytes per second", one("temp_bytes_per_s"), SELDOM),
  driver("driver-cpu", "CPU of the driver", "cores", one("driver_cpu_cores")),
];

/** What is told of one of several kinds each, drawn on top of each other, the largest first. */
export interface LabelledChart {
  id: string;
  title: string;
  unit: string;
  /** What stands before the label in brackets. */
  base: string;
  /** What those are called that are not drawn. */
  rest: string;
  usual: boolean;
}

const labelled = (id: string, title: string, unit: string, base: string, rest: string): LabelledChart => ({
  id,
  title,
  unit,
  base,
  rest,
  usual: false,
});

export const LABELLED_CHARTS: LabelledChart[] = [
  { ...labelled("waits", "Waits by class", "sessions", "waits_sessions", "rarer classes"), usual: true },
  labelled(
    "io-read",
    "Tables and indexes read, by whom",
    "bytes per second",
    "io_read_bytes_per_s",
    "others",
  ),
  labelled(
    "io-written",
    "Tables and indexes written, by whom",
    "bytes per second",
    "io_write_bytes_per_s",
    "others",
  ),
  labelled(
    "file-waits",
    "Waits for files, by kind",
    "threads that waited",
    "file_wait_seconds_per_s",
    "other kinds",
  ),
];

/** Parts of all processor time, the lowest first. */
export const CPU_STATES: Part[] = [
  { key: "cpu_user_share", label: "user", colour: "cpu-user" },
  { key: "cpu_system_share", label: "system", colour: "cpu-system" },
  { key: "cpu_iowait_share", label: "iowait", colour: "series-2" },
  { key: "cpu_steal_share", label: "steal", colour: "series-4" },
];

/** Charts that are made for themselves, in the order of the page, with those of metrics between. */
export const OWN_CHARTS: { id: string; title: string; group: Group; usual: boolean }[] = [
  { id: "throughput", title: "Throughput", group: "load", usual: true },
  { id: "transactions", title: "Throughput of each transaction", group: "load", usual: true },
  { id: "latency", title: "Latency", group: "load", usual: true },
  { id: "median", title: "Latency, p50", group: "load", usual: false },
  { id: "failed", title: "Failed transactions", group: "load", usual: true },
  { id: "pool", title: "Connections of the pool", group: "load", usual: true },
  { id: "waiting", title: "Clients waiting for a connection", group: "load", usual: true },
  { id: "wait", title: "Wait for a connection", group: "load", usual: true },
  { id: "cpu", title: "CPU by state", group: "host", usual: true },
  ...LABELLED_CHARTS.map(({ id, title, usual }) => ({ id, title, group: "database" as const, usual })),
  { id: "tables", title: "Tables on disk", group: "database", usual: true },
];
