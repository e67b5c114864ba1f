// SYNTHETIC TEST DATA. Nothing here was measured: passes of three targets over a query set, made up by formula. For the
// tests only; never for a document.

import type {
  Passes,
  PlanNode,
  QueryPlan,
  QueryTimes,
  SpeedUp,
  StageResult,
  WrittenReport,
} from "../src/document";
import { subject, syntheticReport, totals, weighed } from "./fixture";

export interface PassesPlan {
  /** Seconds of the first query of each target; each further one takes a little longer. */
  first: Record<string, number>;
  queries: number;
  passes: number;
  workload: string;
}

const PLAN: PassesPlan = {
  first: { pg: 0.04, my: 0.09, duck: 0.006 },
  queries: 22,
  passes: 3,
  workload: "tpch/queries",
};

/** `my` does not run Q17, and answers Q4 otherwise than `pg`; all took turns, and `duck` was loaded before. */
export function passesReport(plan: Partial<PassesPlan> = {}): WrittenReport {
  const { first, queries, passes, workload } = { ...PLAN, ...plan };
  const base = syntheticReport();
  const [pg] = base.targets;
  const [stage] = base.stages;
  if (pg === undefined || stage === undefined) throw new Error("the fixture has no target or stage");
  const names = Object.keys(first);
  const stages: StageResult[] = [];
  let clock = 5;
  for (let pass = 0; pass <= passes; pass += 1) {
    for (const target of names) {
      const own = { id: stages.length, target, series: "queries", workload, start_s: clock, seconds: 2 };
      const kind = pass === 0 ? "warm-up" : "hold";
      const rest = { clients: 1, pass: true, throughput: null, totals: totals(queries) } as const;
      stages.push({ ...stage, ...own, ...rest, kind, by_type: [] });
      clock += 2.2;
    }
  }
  const idsOf = (target: string) =>
    stages.filter((one) => one.target === target && one.kind === "hold").map(({ id }) => id);
  const family = workload.split("/")[0] ?? workload;
  const all = new Map(
    names.map((target) => [target, passesOf(target, first[target] ?? 1, queries, idsOf(target))]),
  );
  const speedUps = (own: Passes) =>
    [...all].filter(([, base]) => base !== own).map(([name, base]) => speedUp(name, base, own));
  return weighed({
    ...base,
    run: { ...base.run, name: "synthetic-passes-1", command: ["dyno", "run", workload] },
    targets: names.map((name) => ({ ...pg, name, product: name })),
    hosts: [],
    data: [],
    settings: [],
    checks: [],
    prepare: names
      .filter((name) => name !== "duck")
      .flatMap((target) =>
        ["tables", "data", "keys"].map((step, at) => ({
          target,
          workload: family,
          step,
          seconds: [0.02, 3.1, 0.9][at] ?? 0,
          rows: null,
          bytes: null,
        })),
      ),
    series: [...all].map(([target, passes]) => ({
      target,
      name: "queries",
      phase: 0,
      stream: 0,
      workload,
      ...(family === "tpch"
        ? { caveat: "derived from TPC-H, not comparable to published TPC-H results" }
        : {}),
      ladder: [],
      holds: idsOf(target),
      headline: null,
      peak: null,
      saturation: null,
      passes: { ...passes, speed_ups: speedUps(passes) },
      findings: [],
    })),
    stages,
    timelines: names.map((target) => ({
      target,
      load: {
        t_s: [6, 7],
        stage: [0, 0],
        clients: [1, 1],
        tps: [9, 11],
        failed_per_s: [0, 0],
        p50_us: [4e4, 4e4],
        p95_us: [9e4, 9e4],
        p99_us: [9e4, 9e4],
        max_us: [9e4, 9e4],
      },
      metrics: [
        { source: "host", key: "server_cpu_cores", unit: "cores", t_s: [6, 7, 8], values: [0.4, 0.9, 0.7] },
      ],
    })),
    plans: names.flatMap((target) => plansOf(target, queries)),
    findings: [
      {
        code: "answer-differs",
        severity: "invalid",
        ...subject("my", "queries"),
        evidence: "Q4: the answer is not that of pg: row 2 of 5 differs",
        advice: "do not use the times of these queries",
      },
    ],
    quotes: [],
    notices: [],
  });
}

function passesOf(target: string, first: number, count: number, stages: number[]): Passes {
  const queries = Array.from({ length: count }, (_, at): QueryTimes => {
    const middle = first * (1 + at / 8) * (at % 5 === 3 ? 4 : 1);
    const failed = target === "my" && at === 16;
    const times_s = stages.map((_, pass) =>
      failed ? null : middle * (1 + (pass - (stages.length - 1) / 2) * 0.04),
    );
    return {
      query: `Q${at + 1}`,
      times_s,
      median_s: failed ? null : middle,
      failure: failed ? "cancelled after 300 s, at the time limit" : null,
      over_limit: failed,
      rows: failed ? null : 5 + at,
      validated: null,
      compared: !failed,
      differs: target === "my" && at === 3 ? "the answer is not that of pg: row 2 of 5 differs" : null,
      varies: null,
    };
  });
  const medians = queries.flatMap(({ median_s }) => median_s ?? []);
  const all = medians.length === count;
  const seconds = stages.map((_, pass) =>
    all ? queries.reduce((sum, { times_s }) => sum + (times_s[pass] ?? 0), 0) : null,
  );
  const kept = queries.filter(({ rows }) => rows !== null).length;
  const differ = queries.filter(({ differs }) => differs !== null).length;
  return {
    stages,
    seconds,
    queries,
    total_s: all ? medians.reduce((sum, one) => sum + one, 0) : null,
    total_half_width_s: all && stages.length > 2 ? 0.031 * medians.reduce((sum, one) => sum + one, 0) : null,
    geometric_mean_s: all
      ? Math.exp(medians.reduce((sum, one) => sum + Math.log(one), 0) / medians.length)
      : null,
    geometric_mean_half_width_s: null,
    qph: null,
    qph_half_width: null,
    answers: { kept, known: 0, valid: 0, alike: kept - differ, differ },
    clients: 1,
  };
}

/** The targets of this fixture are a constant factor apart, so any ratio is the mean; the interval is made up. */
function speedUp(name: string, base: Passes, own: Passes): SpeedUp {
  const ratios: SpeedUp["ratios"] = [];
  const without: string[] = [];
  for (const [at, { query, median_s, differs }] of own.queries.entries()) {
    const of = base.queries[at];
    const counts = of?.median_s != null && median_s !== null && of.differs === null && differs === null;
    if (counts) ratios.push({ query, ratio: (of.median_s ?? 0) / median_s });
    else without.push(query);
  }
  const mean = ratios[0]?.ratio ?? null;
  const interval: [number, number] | null = mean === null ? null : [mean * 0.9, mean * 1.1];
  return { base: name, mean, interval, ratios, without };
}

export function planNode(
  depth: number,
  operation: string,
  object: string | null,
  own: Partial<PlanNode> = {},
) {
  const figures = {
    rows_planned: 10,
    rows: 12,
    loops: 1,
    time_ms: 40 / (depth + 1),
    own_ms: 20 / (depth + 1),
  };
  return { depth, operation, object, index: null, ...figures, pages_hit: 120, pages_read: 3, ...own };
}

export function queryPlan(query: string, own: Partial<QueryPlan> = {}): QueryPlan {
  const nodes = [
    planNode(0, "Sort", null, { details: ["Sort Key: l_orderkey"] }),
    planNode(1, "Hash Join", null),
    planNode(2, "Seq Scan", "lineitem", {
      rows: 52_000,
      rows_off: 5_200,
      details: [`Filter: (l_comment ~~ '%${"x".repeat(300)}%')`],
    }),
    planNode(2, "Hash", null, { loops: 0, rows: 0 }),
  ];
  const sql = "select *\nfrom lineitem";
  const about = { target: "pg", series: "queries", query, sql, when: "after", executed: true } as const;
  return { shape: "a", ...about, reason: null, nodes, text: null, ...own };
}

/** `pg` ran Q2 otherwise than it was planned, `my` did not run Q17, and `duck` tells a text. */
function plansOf(target: string, queries: number): QueryPlan[] {
  const all = Array.from({ length: queries }, (_, at) => `Q${at + 1}`);
  const estimate = { nodes: [], executed: false };
  const plan = (query: string): QueryPlan => {
    if (target === "duck")
      return queryPlan(query, { target, ...estimate, text: "HASH_JOIN\n  SEQ_SCAN lineitem ~ 12 rows" });
    if (target === "my" && query === "Q17")
      return queryPlan(query, { target, ...estimate, text: null, shape: null, reason: "no such table" });
    return queryPlan(query, { target });
  };
  const changed = (when: "before" | "after", operation: string, index: string | null) =>
    queryPlan("Q2", {
      when,
      executed: false,
      shape: operation,
      nodes: [
        planNode(0, "Sort", null),
        planNode(1, operation, null),
        planNode(2, index === null ? "Seq Scan" : "Index Scan", "lineitem", { index }),
      ],
    });
  const planned = [changed("before", "Nested Loop", "lineitem_fk1"), changed("after", "Hash Join", null)];
  return [...(target === "pg" ? planned : []), ...all.map(plan)];
}
