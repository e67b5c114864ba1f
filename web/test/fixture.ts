// SYNTHETIC TEST DATA. Nothing here was measured: a report whose figures are made up by formula, in the shape
// of a run of three minutes with two series. For the tests and `npm run dev` only; never for a document.

import type {
  Data,
  Estimate,
  Percentiles,
  Series,
  SettingFacts,
  StageKind,
  StageResult,
  Totals,
  WrittenLoad,
  WrittenMetric,
  WrittenReport,
} from "../src/document";

/** Columns of the load that every interval fills. */
type Intervals = Required<Omit<WrittenLoad, "pool" | "by_type" | "p90_us" | "p999_us">>;

/** A text that would run, close an element or break a layout if any of it were taken for markup. */
export const HOSTILE = `</script><img src=x onerror="document.title='broken out'"><!-- <b>${"wide".repeat(40)}`;

interface Plan {
  name: string;
  workload: string;
  /** TPS by clients, made up. */
  curve: [number, number][];
  holdClients: number;
  holdSeconds: number;
  rungSeconds: number;
  service_us: number;
}

const PLANS: Plan[] = [
  {
    name: "read",
    workload: "tpcb/select-only",
    curve: [
      [1, 13_300],
      [2, 41_000],
      [4, 78_200],
      [8, 85_300],
      [16, 83_900],
      [32, 80_100],
    ],
    holdClients: 8,
    holdSeconds: 30,
    rungSeconds: 6,
    service_us: 60,
  },
  {
    name: "write",
    workload: "tpcb/tpcb-like",
    curve: [
      [1, 620],
      [2, 1_150],
      [4, 2_050],
      [8, 3_400],
      [16, 4_230],
      [32, 4_020],
      [64, 3_610],
    ],
    holdClients: 16,
    holdSeconds: 30,
    rungSeconds: 6,
    service_us: 1_400,
  },
];

/** The whole report; the same at every call. */
export function syntheticReport(): WrittenReport {
  const random = sequence(7);
  const stages: StageResult[] = [];
  const series: Series[] = [];
  const load: Intervals = {
    t_s: [],
    stage: [],
    clients: [],
    tps: [],
    failed_per_s: [],
    p50_us: [],
    p95_us: [],
    p99_us: [],
    max_us: [],
  };
  let clock = 6.4;
  for (const plan of PLANS) {
    const ids: { ladder: number[]; holds: number[] } = { ladder: [], holds: [] };
    const run = (kind: StageKind, clients: number, seconds: number): StageResult => {
      const tps = throughputOf(plan, clients);
      const stage = stageOf(plan, stages.length, kind, clients, seconds, clock, tps);
      stages.push(stage);
      for (let second = 0; second < seconds; second += 1) addInterval(load, stage, second, tps, random);
      clock += seconds + 0.35;
      return stage;
    };
    run("warm-up", 8, 5);
    for (const [clients] of plan.curve) ids.ladder.push(run("ladder", clients, plan.rungSeconds).id);
    ids.holds.push(run("hold", plan.holdClients, plan.holdSeconds).id);
    series.push(seriesOf(plan, ids, stages));
  }
  return weighed({
    ...evidence(clock),
    series,
    stages,
    timelines: [{ target: "pg", load, metrics: telemetry(load, stages, clock, random) }],
  });
}

/** A report whose series name the findings that are about them. */
export function weighed(report: WrittenReport): WrittenReport {
  for (const one of report.series) {
    one.findings = report.findings.flatMap(({ system, series }, place) =>
      (system ?? one.target) === one.target && (series ?? one.name) === one.name ? [place] : [],
    );
  }
  return report;
}

/** The same, with text from outside that must stay text. */
export function hostileReport(): WrittenReport {
  const report = syntheticReport();
  report.run.name = HOSTILE;
  report.run.reason = HOSTILE;
  report.run.outcome = "incomplete";
  report.run.command.push(HOSTILE);
  report.run.spec = { [HOSTILE]: HOSTILE };
  for (const target of report.targets) {
    target.product = HOSTILE;
    target.version_text = HOSTILE;
    target.url = HOSTILE;
  }
  for (const finding of report.findings) finding.evidence = HOSTILE;
  for (const settings of report.settings) {
    for (const row of settings.rows) row.value = HOSTILE;
  }
  report.notices.push({ target: "pg", stage: 1, text: HOSTILE });
  return report;
}

/** A run that was killed before anything was measured, of which little is known. */
export function emptyReport(): WrittenReport {
  const report = syntheticReport();
  const nothing = {
    tls: null,
    same_host: null,
    embedded: null,
    connections_max: null,
    host_source: null,
    isolation: null,
    disk_kind: null,
    in_process: false,
  };
  return {
    ...report,
    run: { ...report.run, outcome: "incomplete", reason: null },
    targets: [
      {
        name: "pg",
        server: "pg",
        url: "postgres://db/x",
        product: null,
        version: null,
        version_text: null,
        ...nothing,
      },
    ],
    hosts: [],
    settings: [],
    data: [],
    found: [],
    prepare: [],
    series: [],
    stages: [],
    timelines: [],
    sizes: [],
    checks: [],
    hooks: [],
    lost: [],
    findings: [],
    quotes: [],
    notices: [],
  };
}

function throughputOf(plan: Plan, clients: number): number {
  return plan.curve.find(([count]) => count === clients)?.[1] ?? 0;
}

function seriesOf(plan: Plan, ids: { ladder: number[]; holds: number[] }, stages: StageResult[]): Series {
  const top = Math.max(...plan.curve.map(([, tps]) => tps));
  const peak = stages.find((stage) => ids.ladder.includes(stage.id) && stage.throughput?.mean === top);
  const held = stages.find((stage) => ids.holds.includes(stage.id));
  return {
    target: "pg",
    name: plan.name,
    phase: plan.name === "read" ? 0 : 1,
    stream: 0,
    workload: plan.workload,
    ...ids,
    headline: held?.throughput
      ? {
          stages: [held.id],
          stage: held.id,
          throughput: held.throughput,
          latency: held.service,
          cpu_taken_share: plan.name === "read" ? 0.04 : null,
        }
      : null,
    peak: peak?.throughput
      ? {
          stage: peak.id,
          clients: peak.clients,
          throughput: { ...peak.throughput, half_width: null },
          clients_indistinguishable: plan.name === "read" ? [8, 16] : [16],
          indistinguishable_from: plan.name === "read" ? "16" : null,
          passed: true,
          rate_met: false,
        }
      : null,
    saturation: null,
    findings: [],
  };
}

function stageOf(
  plan: Plan,
  id: number,
  kind: StageKind,
  clients: number,
  seconds: number,
  start_s: number,
  tps: number,
): StageResult {
  const done = Math.round(tps * seconds);
  const service = percentiles(plan, clients, done);
  return {
    id,
    target: "pg",
    series: plan.name,
    kind,
    workload: plan.workload,
    clients,
    clients_end: null,
    connections: null,
    threads: 2,
    protocol: "prepared",
    arrival: "closed",
    think_time_ms: 0,
    rate_end_per_s: null,
    planned_s: seconds,
    planned_transactions: null,
    types: [plan.workload],
    start_s,
    seconds,
    complete: true,
    throughput: estimate(tps, kind === "hold" ? 0.006 : 0.019, seconds),
    totals: totals(done),
    service,
    response: null,
    lag: null,
    wait: null,
    pool: null,
    resources: {},
    cpu_taken_share: null,
    costs: null,
    by_type: [
      {
        name: plan.workload,
        done,
        rolled_back: 0,
        share: 1,
        per_s: tps,
        failed: 0,
        failed_with_drain: 0,
        retries: 0,
        service,
        response: null,
      },
    ],
    queries: null,
    errors: {},
    driver_cpu_us_per_transaction: 7.2,
    driver_thread_busy_max: Math.min(0.9, tps / 120_000 + 0.05),
    clients_aborted: 0,
    not_begun: 0,
    skipped: 0,
  };
}

export function estimate(mean: number, relative: number, samples: number): Estimate {
  return { mean, half_width: mean * relative, samples, effective_samples: samples };
}

export function totals(done: number): Totals {
  return {
    done,
    failed: 0,
    unknown: 0,
    retries: 0,
    statements: done,
    reconnects: 0,
    lost_s: 0,
    done_with_drain: done,
    failed_with_drain: 0,
    unknown_with_drain: 0,
    cancelled: 0,
  };
}

function percentiles(plan: Plan, clients: number, count: number): Percentiles {
  const p50_us = plan.service_us * (1 + clients / 12);
  return {
    count,
    mean_us: p50_us * 1.1,
    p50_us,
    p90_us: p50_us * 1.7,
    p95_us: p50_us * 2.1,
    p99_us: p50_us * 2.9,
    p999_us: p50_us * 12,
    max_us: p50_us * 60,
  };
}

function addInterval(
  load: Intervals,
  stage: StageResult,
  second: number,
  tps: number,
  random: () => number,
): void {
  const warming = stage.kind === "warm-up" ? Math.min(1, 0.5 + second * 0.12) : 1;
  const slow = stage.kind === "hold" && second % 13 === 9 ? 0.86 : 1;
  const p50 = (stage.service?.p50_us ?? 0) / slow;
  load.t_s.push(stage.start_s + second + 0.5);
  load.stage.push(stage.id);
  load.clients.push(stage.clients);
  load.tps.push(tps * warming * slow * (1 + (random() - 0.5) * 0.05));
  load.failed_per_s.push(0);
  load.p50_us.push(p50 * (1 + (random() - 0.5) * 0.06));
  load.p95_us.push(p50 * 2.1 * (1 + (random() - 0.5) * 0.1));
  load.p99_us.push(p50 * 2.9 * (1 + (random() - 0.5) * 0.2));
  load.max_us.push(p50 * (8 + random() * 60) * (slow < 1 ? 3 : 1));
}

function telemetry(
  load: Intervals,
  stages: StageResult[],
  end: number,
  random: () => number,
): WrittenMetric[] {
  const t_s: number[] = [];
  for (let t = 1; t < end; t += 1.0004) t_s.push(t);
  const at = (t: number) => stages.find((stage) => t >= stage.start_s && t <= stage.start_s + stage.seconds);
  const busy = (t: number) => Math.min(1, (at(t)?.clients ?? 0.3) / 4);
  const writing = (t: number) => (at(t)?.series === "write" ? (at(t)?.throughput?.mean ?? 0) : 0);
  const noisy = (value: number) => value * (0.93 + random() * 0.07);
  const metric = (
    source: string,
    key: string,
    unit: string,
    value: (t: number) => number,
  ): WrittenMetric => ({
    source,
    key,
    unit,
    t_s,
    values: t_s.map((t, row) => (row === 40 ? null : noisy(value(t)))),
  });
  const drawn = [
    metric("host", "cpu_user_share", "share", (t) => busy(t) * (writing(t) > 0 ? 0.34 : 0.56)),
    metric("host", "cpu_system_share", "share", (t) => busy(t) * 0.3),
    metric("host", "cpu_iowait_share", "share", (t) => (writing(t) > 0 ? 0.14 : 0.002)),
    metric("host", "cpu_steal_share", "share", () => 0.012),
    metric("host", "server_cpu_cores", "cores", (t) => busy(t) * 1.15),
    metric("host", "driver_cpu_cores", "cores", (t) => busy(t) * (writing(t) > 0 ? 0.12 : 0.62)),
    metric("host", "disk_write_bytes_per_s", "bytes/s", (t) => writing(t) * 9_000 + 40_000),
    metric("host", "disk_read_bytes_per_s", "bytes/s", () => 12_000),
    metric("host", "disk_write_operations_per_s", "operations/s", (t) => writing(t) * 0.4 + 3),
    metric("host", "disk_read_operations_per_s", "operations/s", () => 1),
    metric("database", "wal_bytes_per_s", "bytes/s", (t) => writing(t) * 2_100 + 200),
    metric("database", "cache_hit_share", "share", () => 0.99),
  ];
  // As many more as a real run has, so that the size of the page is that of a real one.
  const others = Array.from({ length: 34 }, (_, index) =>
    metric(
      index < 10 ? "host" : "database",
      `synthetic_${index}_per_s`,
      "1/s",
      (t) => writing(t) * (index + 1),
    ),
  );
  return load.t_s.length > 0 ? [...drawn, ...others] : [];
}

function evidence(seconds: number): Omit<WrittenReport, "series" | "stages" | "timelines"> {
  return {
    schema: "dyno.report/1",
    run: {
      name: "synthetic-test-data-1",
      dyno_version: "0.0.0-synthetic",
      started_at: "2026-11-20T08:49:41+01:00",
      command: ["dyno", "run", "--target", "postgres://me@host/db?application_name=x y"],
      spec: { workload: "tpcb", scale: 50, synthetic: true },
      resolved: { workload: "tpcb", scale: 50, synthetic: true },
      seed: "15241578753238836750",
      seconds: seconds + 2.2,
      outcome: "complete",
      reason: null,
    },
    targets: [
      {
        name: "pg",
        server: "pg",
        url: "postgres://dyno@/dyno?host=/tmp/x",
        product: "PostgreSQL",
        version: "18.1",
        version_text: "PostgreSQL 18.1 (synthetic) on x86_64-pc-linux-gnu, compiled by nobody, 64-bit",
        tls: null,
        same_host: true,
        embedded: { profile: "production", source: "/synthetic/bin", unsafe_profile: false },
        connections_max: 150,
        host_source: "this host",
        isolation: "read committed",
        disk_kind: "nvme",
        in_process: false,
      },
    ],
    hosts: [
      {
        roles: ["driver", "pg"],
        hostname: "synthetic",
        cpu_model: "Synthetic CPU 9000",
        cpus: 2,
        cpus_limit: null,
        memory_bytes: 24 * 1024 ** 3,
        memory_limit_bytes: null,
        disk_kind: "nvme",
        disk_model: null,
        filesystem: "ext4",
        kernel: "6.12.0",
        os: "Debian GNU/Linux 12",
        virtualization: "kvm",
        cpu_governor: null,
        transparent_hugepages: "madvise",
      },
    ],
    settings: [{ target: "pg", rows: structuredClone(SETTINGS), facts: FACTS }],
    data: [structuredClone(DATA)],
    found: [structuredClone(DATA)],
    prepare: [
      { target: "pg", workload: "tpcb", step: "drop", seconds: 0.01, rows: null, bytes: null },
      { target: "pg", workload: "tpcb", step: "tables", seconds: 0.03, rows: null, bytes: null },
      { target: "pg", workload: "tpcb", step: "data", seconds: 2.64, rows: 5_000_550, bytes: 480_000_000 },
      { target: "pg", workload: "tpcb", step: "vacuum", seconds: 0.22, rows: null, bytes: null },
      { target: "pg", workload: "tpcb", step: "keys", seconds: 1.18, rows: null, bytes: null },
    ],
    sizes: [],
    hooks: [],
    lost: [],
    checks: [
      {
        target: "pg",
        workload: "tpcb",
        name: "history-holds-every-commit",
        passed: true,
        expected: "126,304",
        found: "126,304",
        detail: "126,304 commits acknowledged, 126,304 found",
      },
      {
        target: "pg",
        workload: "tpcb",
        name: "four-sums-agree",
        passed: true,
        expected: null,
        found: null,
        detail: "The balances of accounts, tellers and branches and the deltas of history have one sum",
      },
    ],
    findings: [
      {
        code: "shared-host",
        severity: "doubt",
        ...subject(null),
        evidence: "Driver and server share 2 cores; the driver took 34% of them during the read hold.",
        advice: "Run the driver on another host to learn what the server can do alone.",
      },
      {
        code: "contention-by-design",
        severity: "doubt",
        ...subject("pg", "write"),
        evidence: "64 clients update 50 branches: rows, not the server, set the limit.",
        advice: "Choose a scale above the highest number of clients.",
      },
      {
        code: "durable",
        severity: "note",
        ...subject("pg"),
        evidence: "fsync, synchronous_commit and full_page_writes are on.",
        advice: "",
      },
      {
        code: "closed-loop-latency",
        severity: "note",
        ...subject("pg", "read"),
        evidence: "The hold ran at the peak in a closed loop, so its latency is the queue's.",
        advice: "Use --rate below the peak for the latency that users would see.",
      },
    ],
    quotes: [],
    notices: [{ target: "pg", stage: null, text: "Synthetic test data: nothing here was measured." }],
  };
}

const DATA: Data = {
  target: "pg",
  workload: "tpcb",
  scale: 50,
  database_bytes: 797_000_000,
  cache_bytes: 6 * 1024 ** 3,
  memory_bytes: 24 * 1024 ** 3,
  tables: [
    {
      name: "pgbench_accounts",
      rows: 5_000_000,
      table_bytes: 671_000_000,
      index_bytes: 112_000_000,
      logged: true,
      indexed: null,
    },
    {
      name: "pgbench_branches",
      rows: 50,
      table_bytes: 8_192,
      index_bytes: 16_384,
      logged: true,
      indexed: null,
    },
    {
      name: "pgbench_tellers",
      rows: 500,
      table_bytes: 40_960,
      index_bytes: 32_768,
      logged: true,
      indexed: null,
    },
    { name: "pgbench_history", rows: 0, table_bytes: 0, index_bytes: null, logged: null, indexed: null },
  ],
};

const FACTS: SettingFacts = {
  crash_corrupts: [],
  crash_loses_last: [],
  durable_by: "fsync on",
  durability_details: [],
  durability_advice: null,
  log_written_through: false,
  bypasses_system_cache: false,
  checkpoint_setting: null,
};

const SETTINGS = [
  ["fsync", "on", null, "on", false, true],
  ["synchronous_commit", "on", null, "on", false, true],
  ["full_page_writes", "on", null, "on", false, true],
  ["wal_level", "replica", null, "replica", false, true],
  ["shared_buffers", "786432", "8kB", "16384", true, false],
  ["max_wal_size", "8192", "MB", "1024", true, false],
  ["checkpoint_timeout", "900", "s", "300", true, false],
  ["random_page_cost", "1.1", null, "4", true, false],
  ["application_name", "dyno", null, null, true, false],
].map(([name, value, unit, standard, changed, durability]) => ({
  name: String(name),
  value: String(value),
  unit: unit === null ? null : String(unit),
  default: standard === null ? null : String(standard),
  source: changed ? "configuration file" : "default",
  changed: changed === true,
  durability: durability === true,
}));

/** The same numbers from 0 to 1 at every run. */
export function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** What a finding is about. */
export function subject(target: string | null, series: string | null = null, stage: number | null = null) {
  return { about: series ?? target, target, system: target, server: null as string | null, series, stage };
}
