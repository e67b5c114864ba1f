// SYNTHETIC TEST DATA. Nothing here was measured: a ramp of two targets that took turns (A B A B), made up by formula, in
// the shape of a real one. For the tests and `npm run dev` only; never for a document.

import type {
  Costs,
  Percentiles,
  Series,
  StageResult,
  WrittenMetric,
  WrittenReport,
  WrittenTimeline,
} from "../src/document";
import { estimate, sequence, subject, syntheticReport, totals, weighed } from "./fixture";

export interface DuelPlan {
  /** Clients of the last step; the ramp adds one every step. */
  steps: number;
  stepSeconds: number;
  /** At the same time, rather than in turn. */
  together: boolean;
  name: string;
}

interface Side {
  name: string;
  /** TPS of one client, and the most that there is. */
  each: number;
  most: number;
  /** Milliseconds of one transaction without any waiting. */
  service_us: number;
  bytesEach: number;
  operationsEach: number;
  cpuEach_us: number;
  perRow: number;
  hostRead: boolean;
}

const SIDES: Side[] = [
  {
    name: "pg",
    each: 820,
    most: 19_000,
    service_us: 900,
    bytesEach: 1_150,
    operationsEach: 0.35,
    cpuEach_us: 150,
    perRow: 96,
    hostRead: true,
  },
  {
    name: "my",
    each: 460,
    most: 9_800,
    service_us: 1_700,
    bytesEach: 3_900,
    operationsEach: 1.1,
    cpuEach_us: 270,
    perRow: 141,
    hostRead: true,
  },
];
const CONNECTIONS = 40;
const CPUS = 4;

export function duelReport(plan: Partial<DuelPlan> = {}): WrittenReport {
  const { steps, stepSeconds, together, name } = {
    steps: 60,
    stepSeconds: 12,
    together: false,
    name: "synthetic-duel-1",
    ...plan,
  };
  const random = sequence(11);
  const base = syntheticReport();
  const stages: StageResult[] = [];
  const ladders = new Map<string, number[]>(SIDES.map((side) => [side.name, []]));
  let clock = 9.2;
  for (let clients = 1; clients <= steps; clients += 1) {
    for (const side of SIDES) {
      const stage = rung(side, stages.length, clients, clock, stepSeconds);
      stages.push(stage);
      ladders.get(side.name)?.push(stage.id);
      if (!together) clock += stepSeconds + 0.3;
    }
    if (together) clock += stepSeconds + 0.3;
  }
  const own = (side: Side) => stages.filter((stage) => stage.target === side.name);
  const pg = base.targets[0];
  if (pg === undefined) throw new Error("the fixture has no target");
  return weighed({
    ...base,
    run: {
      ...base.run,
      name,
      command: [
        "dyno",
        "run",
        "events/ingest",
        "--target",
        "pg=postgres://db",
        "--target",
        "my=mysql://db",
        "--ramp",
        `1..${steps}`,
      ],
      seconds: clock + 1,
      resolved: { phases: [{ together }] },
    },
    targets: [
      {
        ...pg,
        embedded: null,
        url: "postgres://dyno@db-a/events",
        same_host: false,
        host_source: "http://db-a:9100/metrics",
      },
      {
        ...pg,
        name: "my",
        product: "MySQL",
        version: "9.4.0",
        version_text: "9.4.0 (synthetic)",
        url: "mysql://dyno@db-b/events",
        embedded: null,
        same_host: false,
        host_source: "http://db-b:9100/metrics",
      },
    ],
    hosts: [
      { ...base.hosts[0], roles: ["driver"] } as never,
      { ...base.hosts[0], roles: ["pg"], hostname: "db-a", cpus: CPUS } as never,
      { ...base.hosts[0], roles: ["my"], hostname: "db-b", cpus: CPUS } as never,
    ],
    data: [],
    prepare: [],
    settings: [],
    series: SIDES.map((side) => series(side, own(side), ladders.get(side.name) ?? [])),
    stages,
    timelines: SIDES.map((side) => timeline(side, own(side), clock, random)),
    sizes: SIDES.map((side) => ({
      target: side.name,
      workload: "events",
      rows: 4_200_000,
      bytes: 4_200_000 * side.perRow,
      rows_counted: true,
      bytes_per_row: side.perRow,
    })),
    checks: SIDES.map((side) => ({
      target: side.name,
      workload: "events",
      name: "every-event-found",
      passed: true,
      expected: "4,200,000",
      found: "4,200,000",
      detail: "4,200,000 events acknowledged, 4,200,000 found",
    })),
    hooks: [
      {
        at_s: 8.1,
        target: "my",
        about: "ingest",
        when: "before",
        action: "ssh db-b systemctl restart mysql",
        seconds: 3.2,
        succeeded: true,
        said: null,
      },
    ],
    lost: [],
    findings: [
      {
        code: "durability-relaxed",
        severity: "doubt",
        ...subject("my"),
        evidence: "innodb_flush_log_at_trx_commit is 2: a crash loses the last second.",
        advice: "Set it to 1, or compare with synchronous_commit=off.",
      },
      {
        code: "noisy",
        severity: "doubt",
        ...subject("pg", "ingest"),
        evidence: "Throughput fell by 9% within the stage.",
        advice: "Use longer steps.",
      },
      {
        code: "saturated",
        severity: "note",
        ...subject("my", "ingest"),
        evidence: "my gave way at 22 clients: throughput is flat while p99 doubled.",
        advice: "",
      },
    ],
    quotes: [
      { target: "pg", series: "ingest", text: "7,680 TPS ±1.0% (pg: ingest, 12 clients, hold)", stages: [3] },
      { target: "my", series: "ingest", text: "nothing (my: ingest): no load was held (--hold)", stages: [] },
    ],
    notices: [],
  });
}

/** Throughput rises with the clients and stops at the most that there is. */
function tpsOf(side: Side, clients: number): number {
  const free = clients * side.each;
  return side.most * (1 - Math.exp(-free / side.most)) * (clients * side.each > side.most * 1.6 ? 0.99 : 1);
}

function p99Of(side: Side, clients: number): number {
  const load = (clients * side.each) / side.most;
  return side.service_us * (2 + load ** 2 * 2.2 + clients / 30);
}

function rung(side: Side, id: number, clients: number, start_s: number, seconds: number): StageResult {
  const tps = tpsOf(side, clients);
  const done = Math.round(tps * seconds);
  const response = percentiles(side, clients, done);
  const inUse = Math.min(CONNECTIONS, clients * 0.9);
  return {
    ...(syntheticReport().stages[0] as StageResult),
    id,
    target: side.name,
    series: "ingest",
    kind: "ladder",
    workload: "events/ingest",
    clients,
    connections: CONNECTIONS,
    start_s,
    seconds,
    throughput: estimate(tps, 0.012, seconds),
    totals: totals(done),
    service: response,
    response,
    lag: response,
    wait: { ...response, p99_us: Math.max(1, (clients - CONNECTIONS) * 90) },
    pool: {
      connections: CONNECTIONS,
      in_use_mean: inUse,
      in_use_max: CONNECTIONS,
      waiting_mean: Math.max(0, clients - CONNECTIONS),
      waiting_max: Math.max(0, clients - CONNECTIONS),
    },
    resources: { server_cpu_cores: coresOf(side, tps) },
    costs: costs(side),
    by_type: [],
  };
}

function costs(side: Side): Costs {
  return {
    server_cpu_us: side.cpuEach_us,
    host_cpu_us: null,
    disk_read_bytes: null,
    disk_write_bytes: side.bytesEach,
    disk_read_operations: null,
    disk_write_operations: side.operationsEach,
    disk_source: "disk",
    disk_operations_source: "disk",
    wal_bytes: side.bytesEach * 0.4,
    network_receive_bytes: 210,
    network_transmit_bytes: side.name === "pg" ? 96 : null,
  };
}

function percentiles(side: Side, clients: number, count: number): Percentiles {
  const p99_us = p99Of(side, clients);
  return {
    count,
    mean_us: p99_us * 0.5,
    p50_us: p99_us * 0.45,
    p90_us: p99_us * 0.7,
    p95_us: p99_us * 0.8,
    p99_us,
    p999_us: p99_us * 2,
    max_us: p99_us * 9,
  };
}

function coresOf(side: Side, tps: number): number {
  return Math.min(CPUS * 0.97, (tps * side.cpuEach_us) / 1e6);
}

function series(side: Side, stages: StageResult[], ladder: number[]): Series {
  const top = stages.reduce((best, stage) =>
    (stage.throughput?.mean ?? 0) > (best.throughput?.mean ?? 0) ? stage : best,
  );
  const at = stages.find((stage) => stage.clients * side.each > side.most * 1.05);
  return {
    target: side.name,
    name: "ingest",
    phase: 0,
    stream: 0,
    workload: "events/ingest",
    ladder,
    holds: [],
    headline: {
      stages: [top.id],
      stage: top.id,
      throughput: top.throughput ?? estimate(0, 0, 0),
      latency: top.response,
      cpu_taken_share: 0.64,
    },
    peak: {
      stage: top.id,
      clients: top.clients,
      throughput: top.throughput ?? estimate(0, 0, 0),
      clients_indistinguishable: [top.clients],
      indistinguishable_from: null,
      passed: true,
      rate_met: false,
    },
    findings: [],
    saturation:
      at === undefined
        ? null
        : {
            stage: at.id,
            last_good: stages.find((stage) => stage.clients === at.clients - 1)?.id ?? null,
            clients: at.clients,
            rate_per_s: null,
            sign: "throughput-flat",
            throughput_per_s: at.throughput?.mean ?? 0,
            p99_us: at.response?.p99_us ?? null,
            evidence: `from ${at.clients} clients on throughput rises by 1% or less a step while p99 grows by 12%.`,
            limits: [
              { resource: "cpu", share: 0.96, evidence: "3.9 of 4 processors were busy" },
              {
                resource: "disk",
                share: side.name === "my" ? 0.81 : 0.34,
                evidence: "the disk was busy for that share of the time",
              },
              { resource: "connections", share: 1, evidence: "40 of 40 connections were in use" },
            ],
          },
  };
}

function timeline(side: Side, stages: StageResult[], end: number, random: () => number): WrittenTimeline {
  const load = {
    t_s: [],
    stage: [],
    clients: [],
    tps: [],
    failed_per_s: [],
    p50_us: [],
    p95_us: [],
    p99_us: [],
    max_us: [],
  } as Record<string, number[]>;
  const pool = { in_use: [], idle: [], waiting: [], wait_p99_us: [] } as Record<string, (number | null)[]>;
  const noisy = (value: number) => value * (0.95 + random() * 0.1);
  for (const stage of stages) {
    for (let second = 0; second < stage.seconds; second += 1) {
      const p99 = noisy(stage.response?.p99_us ?? 0);
      const row: Record<string, number> = {
        t_s: stage.start_s + second + 0.5,
        stage: stage.id,
        clients: stage.clients,
        tps: noisy(stage.throughput?.mean ?? 0),
        failed_per_s: 0,
        p50_us: p99 * 0.45,
        p95_us: p99 * 0.8,
        p99_us: p99,
        max_us: p99 * 4,
      };
      for (const [name, value] of Object.entries(row)) load[name]?.push(round(value));
      const inUse = Math.min(CONNECTIONS, stage.clients * (0.85 + random() * 0.1));
      const poolRow = {
        in_use: inUse,
        idle: CONNECTIONS - inUse,
        waiting: Math.max(0, stage.clients - CONNECTIONS) * noisy(1),
        wait_p99_us: stage.clients > CONNECTIONS ? (stage.clients - CONNECTIONS) * 90 : 12,
      };
      for (const [name, value] of Object.entries(poolRow)) pool[name]?.push(round(value));
    }
  }
  return {
    target: side.name,
    load: { ...load, pool: pool as never } as WrittenTimeline["load"],
    metrics: telemetry(side, stages, end, noisy),
  };
}

function telemetry(
  side: Side,
  stages: StageResult[],
  end: number,
  noisy: (value: number) => number,
): WrittenMetric[] {
  const t_s: number[] = [];
  for (let t = 1; t < end; t += 1.0004) t_s.push(round(t));
  const at = (t: number) => stages.find((stage) => t >= stage.start_s && t <= stage.start_s + stage.seconds);
  const tps = (t: number) => at(t)?.throughput?.mean ?? 0;
  const cpu = (t: number) => coresOf(side, tps(t)) / CPUS;
  let written = 0;
  const bytes = t_s.map((t) => (written += tps(t) * side.perRow));
  const metric = (
    source: string,
    key: string,
    unit: string,
    value: (t: number, row: number) => number,
  ): WrittenMetric => ({
    source,
    key,
    unit,
    t_s,
    values: t_s.map((t, row) => round(noisy(value(t, row)))),
  });
  const exact = (key: string, share: number): WrittenMetric => ({
    source: "database",
    key,
    unit: "bytes",
    t_s,
    values: bytes.map((value) => Math.round(40e6 + value * share)),
  });
  const host = side.hostRead
    ? [
        metric("host", "cpu_user_share", "share", (t) => cpu(t) * 0.68),
        metric("host", "cpu_system_share", "share", (t) => cpu(t) * 0.22),
        metric("host", "cpu_iowait_share", "share", (t) => (tps(t) > 0 ? 0.03 : 0)),
        metric("host", "cpu_steal_share", "share", () => 0.004),
        metric("host", "server_cpu_cores", "cores", (t) => cpu(t) * CPUS),
        metric("host", "server_memory_bytes", "bytes", (_t, row) => 1.2e9 + (bytes[row] ?? 0) * 2),
        metric(
          "host",
          "disk_write_operations_per_s",
          "operations/s",
          (t) => tps(t) * side.operationsEach + 3,
        ),
        metric("host", "disk_read_operations_per_s", "operations/s", () => 1),
        metric("host", "disk_write_bytes_per_s", "bytes/s", (t) => tps(t) * side.bytesEach + 4e4),
        metric("host", "disk_read_bytes_per_s", "bytes/s", () => 12_000),
        metric("host", "network_receive_bytes_per_s", "bytes/s", (t) => tps(t) * 210 + 900),
        metric("host", "network_transmit_bytes_per_s", "bytes/s", (t) => tps(t) * 96 + 700),
      ]
    : [];
  const classes =
    side.name === "pg" ? ["LWLock", "IO", "Lock", "Client"] : ["io/file/innodb", "lock/table", "synch/mutex"];
  return [
    ...host,
    metric("database", "wal_bytes_per_s", "bytes/s", (t) => tps(t) * side.bytesEach * 0.4),
    ...(side.name === "pg" ? [metric("database", "cache_hit_share", "share", () => 0.93)] : []),
    exact("database_bytes", 1),
    exact("table_bytes[event]", 0.7),
    exact("index_bytes[event]", 0.3),
    ...(side.name === "pg"
      ? [0.2, 0.8].map((part, who) =>
          metric(
            "database",
            `io_write_bytes_per_s[${["client", "writer"][who]}]`,
            "bytes/s",
            (t) => tps(t) * side.bytesEach * part,
          ),
        )
      : []),
    ...classes.map((label, index) =>
      metric(
        "database",
        `waits_sessions[${label}]`,
        "sessions",
        (t) => ((at(t)?.clients ?? 0) / 6) * 0.5 ** index,
      ),
    ),
  ];
}

function round(value: number): number {
  return Number(value.toPrecision(5));
}
