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
const chart = (
  id: string,
  title: string,
  unit: string,
  group: Group,
  parts: Part[],
  rest: Partial<MetricChart> = {},
): MetricChart => ({ id, title, unit, group, parts, usual: true, axis: "zero", ...rest });

const SELDOM = { usual: false };

export const METRIC_CHARTS: MetricChart[] = [
  chart("server-cpu", "CPU of the server", "cores", "host", one("server_cpu_cores")),
  chart(
    "server-cpu-parts",
    "CPU of the server by kind",
    "cores",
    "host",
    [
      { key: "server_cpu_user_cores", label: "user", colour: "series-1" },
      { key: "server_cpu_system_cores", label: "system", colour: "series-2", dash: [6, 3] },
    ],
    SELDOM,
  ),
  chart("server-memory", "Memory of the server", "resident", "host", one("server_memory_bytes")),
  chart("operations", "Disk operations", "per second", "host", [
    { key: "disk_write_operations_per_s", label: "writes", colour: "series-2" },
    { key: "disk_read_operations_per_s", label: "reads", colour: "series-1", dash: [6, 3] },
  ]),
  chart("disk", "Disk traffic", "bytes per second", "host", [
    { key: "disk_write_bytes_per_s", label: "written", colour: "series-2" },
    { key: "disk_read_bytes_per_s", label: "read", colour: "series-1", dash: [6, 3] },
  ]),
  chart(
    "server-disk",
    "Disk traffic of the server",
    "bytes per second",
    "host",
    [
      { key: "server_disk_write_bytes_per_s", label: "written", colour: "series-2" },
      { key: "server_disk_read_bytes_per_s", label: "read", colour: "series-1", dash: [6, 3] },
    ],
    SELDOM,
  ),
  chart("disk-busy", "Disk busy", "share of the time", "host", one("disk_busy_share"), {
    axis: "share",
    usual: false,
  }),
  chart(
    "disk-queue",
    "Queue of the disk",
    "operations under way",
    "host",
    one("disk_queue_operations"),
    SELDOM,
  ),
  chart("disk-await", "Time of a disk operation", "seconds, mean", "host", one("disk_await_seconds"), SELDOM),
  chart("network", "Network", "bytes per second", "host", [
    { key: "network_receive_bytes_per_s", label: "received", colour: "series-1" },
    { key: "network_transmit_bytes_per_s", label: "sent", colour: "series-2", dash: [6, 3] },
  ]),
  chart("loopback", "Loopback", "bytes per second, both ways", "host", one("loopback_bytes_per_s"), SELDOM),
  chart(
    "throttled",
    "CPU withheld by a control group",
    "cores",
    "host",
    one("cgroup_throttled_cores"),
    SELDOM,
  ),
  chart(
    "server-throttled",
    "CPU withheld from the server",
    "cores",
    "host",
    one("server_cgroup_throttled_cores"),
    SELDOM,
  ),
  chart(
    "group-disk",
    "Disk traffic of the server's control group",
    "bytes per second",
    "host",
    [
      { key: "server_cgroup_disk_write_bytes_per_s", label: "written", colour: "series-2" },
      { key: "server_cgroup_disk_read_bytes_per_s", label: "read", colour: "series-1", dash: [6, 3] },
    ],
    SELDOM,
  ),
  chart(
    "group-memory",
    "Memory of the server's control group",
    "with its page cache",
    "host",
    [
      { key: "server_cgroup_memory_bytes", label: "in use", colour: "series-1" },
      { key: "server_cgroup_memory_limit_bytes", label: "limit", colour: "series-3", dash: [6, 3] },
    ],
    SELDOM,
  ),
  chart(
    "pressure",
    "Pressure",
    "share of the time in which something waited",
    "host",
    [
      { key: "pressure_cpu_share", label: "CPU", colour: "series-1" },
      { key: "pressure_io_share", label: "I/O", colour: "series-2", dash: [6, 3] },
      { key: "pressure_memory_share", label: "memory", colour: "series-3", dash: [2, 2] },
    ],
    { axis: "share", usual: false },
  ),
  chart("memory-free", "Memory available", "of the host", "host", one("memory_available_bytes"), SELDOM),
  chart("wal", "WAL or redo log", "bytes per second", "database", one("wal_bytes_per_s")),
  chart("cache", "Cache hits", "share of block reads", "database", one("cache_hit_share"), { axis: "share" }),
  chart("size", "Database on disk", "bytes", "database", one("database_bytes")),
  chart(
    "connections",
    "Sessions at the server",
    "connections",
    "database",
    [
      { key: "connections_active", label: "active", colour: "series-1" },
      { key: "connections_idle", label: "idle", colour: "series-3", dash: [6, 3] },
      { key: "connections_in_transaction", label: "idle in transaction", colour: "series-2", dash: [2, 2] },
    ],
    SELDOM,
  ),
  chart(
    "commits",
    "Commits counted by the database",
    "per second",
    "database",
    one("transactions_committed_per_s"),
    SELDOM,
  ),
  chart(
    "tuples",
    "Rows",
    "per second",
    "database",
    [
      { key: "tuples_inserted_per_s", label: "inserted", colour: "series-1" },
      { key: "tuples_updated_per_s", label: "updated", colour: "series-2", dash: [6, 3] },
      { key: "tuples_returned_per_s", label: "returned", colour: "series-3", dash: [2, 2] },
    ],
    SELDOM,
  ),
  chart(
    "blocks",
    "Blocks not in the cache",
    "reads per second",
    "database",
    one("blocks_read_per_s"),
    SELDOM,
  ),
  chart(
    "flushes",
    "Pages written from the cache",
    "per second",
    "database",
    one("buffers_written_per_s"),
    SELDOM,
  ),
  chart(
    "fsyncs",
    "Syncs",
    "calls per second",
    "database",
    [
      { key: "wal_fsyncs_per_s", label: "of the log", colour: "series-1" },
      { key: "fsyncs_per_s", label: "of all files", colour: "series-2", dash: [6, 3] },
    ],
    SELDOM,
  ),
  chart(
    "checkpoints",
    "Checkpoints",
    "begun since the first reading",
    "database",
    one("checkpoints"),
    SELDOM,
  ),
  chart("deadlocks", "Deadlocks", "per second", "database", one("deadlocks_per_s"), SELDOM),
  chart("lock-waits", "Sessions waiting for a lock", "sessions", "database", one("lock_waiting_sessions")),
  chart("row-locks", "Waits for row locks", "per second", "database", one("row_lock_waits_per_s"), SELDOM),
  chart("temp", "Temporary files", "bytes per second", "database", one("temp_bytes_per_s"), SELDOM),
  chart("driver-cpu", "CPU of the driver", "cores", "driver", one("driver_cpu_cores")),
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

export const LABELLED_CHARTS: LabelledChart[] = [
  {
    id: "waits",
    title: "Waits by class",
    unit: "sessions",
    base: "waits_sessions",
    rest: "rarer classes",
    usual: true,
  },
  {
    id: "io-read",
    title: "Tables and indexes read, by whom",
    unit: "bytes per second",
    base: "io_read_bytes_per_s",
    rest: "others",
    usual: false,
  },
  {
    id: "io-written",
    title: "Tables and indexes written, by whom",
    unit: "bytes per second",
    base: "io_write_bytes_per_s",
    rest: "others",
    usual: false,
  },
  {
    id: "file-waits",
    title: "Waits for files, by kind",
    unit: "threads that waited",
    base: "file_wait_seconds_per_s",
    rest: "other kinds",
    usual: false,
  },
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
