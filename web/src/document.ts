// The report document `dyno.report/1`, as `crates/dyno-results/src/document.rs` writes it (described in
// `docs/json.md`). Types only: nothing is computed here. Unknown is null; in columns over time it is NaN, since
// `columns.ts` reads them into typed arrays.

/** The schema this page draws. */
export const SCHEMA = "dyno.report/1";

export interface Report {
  schema: string;
  /** What `dyno serve` adds: whether more is to come. */
  live?: boolean;
  run: Run;
  targets: Target[];
  hosts: Host[];
  settings: Settings[];
  data: Data[];
  /** As the first load found them; absent from runs of an earlier dyno. */
  found?: Data[];
  prepare: PrepareStep[];
  series: Series[];
  stages: StageResult[];
  timelines: Timeline[];
  sizes: Size[];
  checks: Check[];
  /** Of query sets; absent where none were taken. */
  plans?: QueryPlan[];
  hooks: Hook[];
  /** Targets that were given up in mid-run. */
  lost: Lost[];
  /** What variants could not do; absent where there is nothing such. */
  not_done?: NotDone[];
  /** Systems of one target side by side; absent where each target has one. */
  variants?: Variants;
  findings: Finding[];
  /** What to quote of each series, in their order. */
  quotes: Quote[];
  notices: Notice[];
}

export interface Quote {
  target: string;
  series: string;
  text: string;
  /** Empty where nothing is to be quoted. */
  stages: number[];
}

export interface NotDone {
  target: string;
  /** A step of the preparation, or a series. */
  what: string;
  /** Left out but for a series. */
  series?: boolean;
  said: string;
}

export interface Variants {
  /** The first is what the others are compared with. */
  systems: string[];
  rows: VariantRow[];
}

export interface VariantRow {
  /** `build`, `size`, or a series. */
  group: string;
  name: string;
  unit: "s" | "bytes" | "per-s" | "count";
  /** In the order of the systems. */
  cells: VariantCell[];
}

export interface VariantCell {
  value: number | null;
  ratio: number | null;
  not_done: string | null;
}

export type Outcome = "complete" | "incomplete";

export interface Run {
  name: string;
  dyno_version: string;
  /** RFC 3339. */
  started_at: string;
  command: string[];
  spec: unknown;
  /** With every default. */
  resolved?: unknown;
  /** Text in the page, where a 64-bit number would lose digits. */
  seed: string | number;
  seconds: number;
  outcome: Outcome;
  reason: string | null;
}

export interface Target {
  /** Of the system: what `target` is everywhere else. */
  name: string;
  /** The target's name in the specification. */
  server: string;
  url: string;
  product: string | null;
  version: string | null;
  version_text: string | null;
  /** Null where the connection is not encrypted. */
  tls: string | null;
  same_host: boolean | null;
  embedded: Embedded | null;
  connections_max: number | null;
  /** `this host`, or a node_exporter's URL; null where the server's host cannot be read. */
  host_source: string | null;
  /** Under its data; reports of before have that of the host alone. */
  disk_kind?: string | null;
}

export interface Embedded {
  profile: string;
  source: string;
  unsafe_profile: boolean;
}

export interface Host {
  /** `driver`, or names of targets. */
  roles: string[];
  hostname: string | null;
  cpu_model: string | null;
  cpus: number | null;
  /** Null where there is no limit. */
  cpus_limit: number | null;
  memory_bytes: number | null;
  /** Null where there is no limit. */
  memory_limit_bytes: number | null;
  disk_kind: string | null;
  disk_model: string | null;
  filesystem: string | null;
  kernel: string | null;
  os: string | null;
  /** Null where it looks like bare metal or cannot be told. */
  virtualization: string | null;
  cpu_governor: string | null;
  transparent_hugepages: string | null;
}

export interface Settings {
  target: string;
  rows: Setting[];
}

export interface Setting {
  name: string;
  /** In `unit`. */
  value: string;
  unit: string | null;
  default: string | null;
  source: string | null;
  changed: boolean;
  durability: boolean;
}

export interface Data {
  target: string;
  workload: string;
  scale: number | null;
  database_bytes: number | null;
  cache_bytes: number | null;
  memory_bytes: number | null;
  tables: Table[];
  indirect?: string[];
  missing_indexes?: string[];
}

export interface Table {
  name: string;
  rows: number | null;
  /** Absent where they are an estimate. */
  rows_counted?: boolean;
  table_bytes: number | null;
  index_bytes: number | null;
  logged: boolean | null;
}

export interface PrepareStep {
  target: string;
  workload: string;
  step: string;
  seconds: number;
  rows: number | null;
  bytes: number | null;
}

export interface Series {
  target: string;
  name: string;
  workload: string;
  /** Stage ids by clients ascending. */
  ladder: number[];
  /** Stage ids in the order they ran. */
  holds: number[];
  /** Null where nothing was measured. */
  headline: Headline | null;
  peak: Peak | null;
  /** Null where the ladder was not saturated, or has too few rungs to say. */
  saturation: Saturation | null;
  /** Left out where the load is no query set, and before the first pass has ended. */
  passes?: Passes;
}

/** What the passes over a query set came to. */
export interface Passes {
  /** Ids in the order they ran; the warm-up is none of them. */
  stages: number[];
  /** Of each pass; null unless all queries ended well. */
  seconds: (number | null)[];
  queries: QueryTimes[];
  /** The median, where a complete pass without a time counts as longer than all others; null where that is such a pass. */
  total_s: number | null;
  /** Of the 95 % interval over the passes; null with fewer than three, and where one has no time. */
  total_half_width_s: number | null;
  geometric_mean_s: number | null;
  geometric_mean_half_width_s: number | null;
  qph: number | null;
  qph_half_width: number | null;
  /** Numbers of queries by what is known of their answers. */
  answers: { kept: number; known: number; valid: number; alike: number; differ: number };
  /** Against each other target of the run; left out where there is none. */
  speed_ups?: SpeedUp[];
}

/** How many times as fast queries are as on a base. */
export interface SpeedUp {
  /** A target, or a side of a comparison. */
  base: string;
  /** Geometric mean of the ratios; null where there is none. */
  mean: number | null;
  /** Of the mean, 95 %, over the queries; null where there are fewer than two. */
  interval: [number, number] | null;
  /** Time of the base by the own one. */
  ratios: { query: string; ratio: number }[];
  /** Queries that do not count: they did not run on both, or an answer differs. */
  without: string[];
}

/** A query in the passes of a series. */
export interface QueryTimes {
  query: string;
  /** Of each pass; null where it did not end well. */
  times_s: (number | null)[];
  /** Null where it did not end well in half of the passes or more. */
  median_s: number | null;
  /** Why it did not end well in some pass. */
  failure: string | null;
  /** It was cancelled at the time limit. */
  over_limit: boolean;
  rows: number | null;
  /** Null where its answer was not compared with the specification's. */
  validated: boolean | null;
  /** Whether it was compared with the answer of another target. */
  compared: boolean;
  /** In what the answer is wrong or another one; null where nothing is known of that. */
  differs: string | null;
  /** What the query's text leaves open, in which its answer is another one; null where there is no such difference. */
  varies: string | null;
}

/** How a query was run. */
export interface QueryPlan {
  /** Null where there is no plan. */
  shape: string | null;
  target: string;
  series: string;
  query: string;
  sql: string;
  when: "before" | "after";
  /** Whether rows and times are real ones. */
  executed: boolean;
  reason: string | null;
  /** In the order of the tree; empty where only the text is known. */
  nodes: PlanNode[];
  text: string | null;
}

export interface PlanNode {
  depth: number;
  operation: string;
  object: string | null;
  index: string | null;
  details?: string[];
  /** Of each execution. */
  rows_planned: number | null;
  rows: number | null;
  loops: number | null;
  /** Of all executions, with the steps below and without them. */
  time_ms: number | null;
  own_ms: number | null;
  pages_hit: number | null;
  pages_read: number | null;
  /** Parallel workers that were launched for what is below it. */
  workers?: number;
  /** How many times as many rows there were as planned, where that is far off. */
  rows_off?: number;
}

/** What stands for a series: its hold, or the median of several that repeat each other, or the rung of its peak. */
export interface Headline {
  stages: number[];
  /** The one of them whose throughput is nearest. */
  stage: number;
  throughput: Estimate;
  latency: Percentiles | null;
  /** What others than the server and dyno took of the host's processors, 0 to 1; of several stages the most. */
  cpu_taken_share: number | null;
}

/** The rung of a ladder at which a target was saturated, and what was at its limit there. */
export interface Saturation {
  stage: number;
  last_good: number | null;
  clients: number;
  rate_per_s: number | null;
  sign: "throughput-flat" | "errors" | "rate-not-met";
  p99_us: number | null;
  evidence: string;
  /** The fullest first. */
  limits: Limit[];
  /** Taken by others than the server and dyno; left out where there are none. */
  taken_by_others?: Limit[];
}

/** A resource at or near its bound. */
export interface Limit {
  resource: string;
  /** 0 to 1. */
  share: number;
  evidence: string;
}

/** What a workload's tables take on disk. */
export interface Size {
  target: string;
  workload: string;
  rows: number;
  rows_counted: boolean;
  bytes: number;
  bytes_per_row: number;
}

export interface Peak {
  stage: number;
  clients: number;
  /** Of a search without an interval. */
  throughput: Estimate;
  clients_indistinguishable: number[];
  /** The others of them in words: `1–16`; null where there are none. */
  indistinguishable_from: string | null;
  passed: boolean;
}

export interface Estimate {
  mean: number;
  /** Of the 95 % interval, in the unit of `mean`. */
  half_width: number | null;
  samples: number;
}

export type StageKind = "warm-up" | "ladder" | "hold" | "ramp";

export type Arrival =
  | { arrival: "closed"; think_time_ms: number }
  | { arrival: "open"; rate_per_s: number; distribution: "poisson" | "constant" };

/** Arrival and stage are flattened into one object. */
export type StageResult = Arrival & {
  id: number;
  target: string;
  series: string;
  /** Its place among the streams that run at the same time; left out where it is the first. */
  stream?: number;
  /** Id of the other stream's stage that it accompanied: that one has the load of the step; left out where it has its own. */
  accompanies?: number;
  /** Left out but for a pass over a query set. */
  pass?: boolean;
  /** Left out where transactions are no queries of a query set, and in documents of earlier versions. */
  query_set?: boolean;
  /** Left out but for fixed work of one client. */
  fixed?: boolean;
  kind: StageKind;
  workload: string;
  clients: number;
  clients_end: number | null;
  /** Connections that the clients share; null where each has its own. */
  connections: number | null;
  threads: number;
  protocol: string;
  /** `epoll` or `uring`; left out where a driver has the connections. */
  poller?: string;
  rate_end_per_s: number | null;
  /** Seconds since the run started. */
  start_s: number;
  seconds: number;
  complete: boolean;
  throughput: Estimate | null;
  totals: Totals;
  service: Percentiles | null;
  /** Null in a closed loop whose clients have a connection each. */
  response: Percentiles | null;
  /** Null in a closed loop whose clients have a connection each. */
  lag: Percentiles | null;
  /** For a connection; null where clients share none. */
  wait: Percentiles | null;
  pool: PoolResult | null;
  /** What host and database did while the load ran: key and mean. */
  resources: Record<string, number>;
  costs: Costs | null;
  by_type: TypeResult[];
  /** Queries of a pass that go on for some seconds; missing where there are none. */
  running?: {
    query: string;
    seconds: number;
    read_share?: number;
    earlier?: { seconds: number; run: string };
  }[];
  /** Null where the workload does not tell. */
  queries: QueryResult | null;
  /** By SQLSTATE or MySQL's number, or `connection`. */
  errors: Record<string, number>;
  driver_cpu_us_per_transaction: number | null;
  /** 0 to 1. */
  driver_thread_busy_max: number | null;
  clients_aborted: number;
  not_begun: number;
  /** Arrivals of an open load that were skipped because they were later than the plan allows. */
  skipped: number;
};

/** Outcomes come twice: within the load, and of all that began in the stage; the others include the drain. */
export interface Totals {
  done: number;
  failed: number;
  unknown: number;
  retries: number;
  statements: number;
  reconnects: number;
  /** Time that clients could not work because their connections were lost, summed over clients. */
  lost_s: number;
  failed_with_drain: number;
  unknown_with_drain: number;
}

/** Statements by what they did, of what was answered within the load. */
export interface QueryResult {
  reads: number;
  writes: number;
  other: number;
  reads_per_s: number;
  writes_per_s: number;
  other_per_s: number;
  /** Of all writes, 0 to 1; null where nothing was to be written. */
  in_vain_share: number | null;
}

/** One transaction type of a stage. */
export interface TypeResult {
  name: string;
  done: number;
  failed: number;
  failed_with_drain: number;
  retries: number;
  service: Percentiles | null;
  response: Percentiles | null;
}

/** Microseconds. */
export interface Percentiles {
  count: number;
  mean_us: number;
  p50_us: number;
  p90_us: number;
  p95_us: number;
  p99_us: number;
  p999_us: number;
  max_us: number;
}

/** Connections shared by clients, over a stage. */
export interface PoolResult {
  connections: number;
  in_use_mean: number;
  waiting_mean: number;
}

/** What one transaction that ended well cost the server. */
export interface Costs {
  server_cpu_us: number | null;
  /** Of everything on the server's host; known only where neither the driver nor another target's load ran there. */
  host_cpu_us: number | null;
  disk_read_bytes: number | null;
  disk_write_bytes: number | null;
  disk_read_operations: number | null;
  disk_write_operations: number | null;
  /** `server`, `cgroup` or `disk`: whose bytes these are. */
  disk_source: string | null;
  /** Whose operations, which need not be the same. */
  disk_operations_source: string | null;
  wal_bytes: number | null;
  network_receive_bytes: number | null;
  network_transmit_bytes: number | null;
}

/** Values over time; NaN where unknown. */
export type Column = Float64Array;

export interface Timeline {
  target: string;
  stream: number;
  load: Load;
  metrics: Metric[];
}

/** Columns of equal length. */
export interface Load {
  t_s: Column;
  stage: Column;
  clients: Column;
  tps: Column;
  failed_per_s: Column;
  p50_us: Column;
  p95_us: Column;
  p99_us: Column;
  max_us: Column;
  /** Null where no stage's clients shared connections. */
  pool: PoolLoad | null;
}

export interface PoolLoad {
  in_use: Column;
  idle: Column;
  /** Clients. */
  waiting: Column;
  wait_p99_us: Column;
}

export interface Metric {
  source: string;
  /** May end in a label: `table_bytes[event]`. */
  key: string;
  unit: string;
  t_s: Column;
  values: Column;
}

/** Columns as JSON has them. */
export type Written<T> = {
  [K in keyof T]: T[K] extends Column
    ? (number | null)[]
    : T[K] extends PoolLoad | null
      ? Written<PoolLoad> | null
      : T[K];
};

export interface WrittenTimeline {
  target: string;
  stream?: number;
  load: Partial<Written<Load>>;
  metrics: Written<Metric>[];
}

/** A report as JSON has it. */
export type WrittenReport = Omit<Report, "timelines"> & { timelines: WrittenTimeline[] };

/** What a live run sends about once a second, and only what is new: parts of the document, stages, and points of curves. */
export interface Update {
  /** Parts that have changed; those that are left out are as they were. */
  report: Partial<Omit<WrittenReport, "timelines" | "stages">>;
  /** Stages that have changed or begun, each of them whole. */
  stages: WrittenReport["stages"];
  append: WrittenTimeline[];
}

/** Something that was done before or after a load. */
export interface Hook {
  /** When it ended. */
  at_s: number;
  target: string;
  about: string;
  when: "before" | "after";
  action: string;
  seconds: number;
  succeeded: boolean;
  said: string | null;
}

export interface Lost {
  at_s: number;
  target: string;
  stage: number | null;
  reason: string;
}

export interface Check {
  target: string;
  workload: string;
  /** Of the answers of a query set; missing for others, and in runs of earlier versions. */
  series?: string;
  name: string;
  /** Null where the check could not be made. */
  passed: boolean | null;
  expected: string | null;
  found: string | null;
  detail: string;
}

export type Severity = "note" | "doubt" | "invalid";

export interface Finding {
  code: string;
  severity: Severity;
  /** Target or series, for a reader; null for the whole run. */
  about: string | null;
  /** The name of the system, or of the server with all its systems. */
  target: string | null;
  system: string | null;
  server: string | null;
  series: string | null;
  /** Id of the stage. */
  stage: number | null;
  evidence: string;
  advice: string;
}

export interface Notice {
  target: string | null;
  stage: number | null;
  text: string;
}
