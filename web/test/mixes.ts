// Runs whose last series is a mix, with what its workload counts and limits of response times.

import type { Percentiles, TypeResult, WrittenReport } from "../src/document";

/** Names of transactions with their shares, and p50 in milliseconds. */
const TRANSACTIONS: [string, number, number][] = [
  ["new_order", 0.45, 21],
  ["payment", 0.43, 11],
  ["order_status", 0.04, 1.2],
  ["delivery", 0.04, 460],
  ["stock_level", 0.04, 3.4],
];

/** The same report with a mix of five transactions as its last series. */
export function withMix(report: WrittenReport): WrittenReport {
  const copy = structuredClone(report);
  const names = new Set(copy.series.map(({ name }) => name));
  const name = [...names].at(-1);
  for (const series of copy.series.filter((one) => one.name === name)) {
    const stage = copy.stages.find(({ id }) => id === series.headline?.stage);
    if (series.headline == null || stage?.throughput == null) throw new Error("the fixture has no headline");
    const tps = stage.throughput.mean;
    stage.by_type = TRANSACTIONS.map(([type, share, ms]) =>
      ofType(type, share, tps, stage.seconds, ms * 1000),
    );
    series.headline.figure = {
      about: "new orders",
      of: "new_order",
      per: "minute",
      at_most: tps * 40,
      value: { ...stage.throughput, mean: tps * 27, half_width: tps * 0.9 },
      possible_share: 27 / 40,
      note: "each transaction draws its home warehouse",
    };
    overTime(copy, series.target, new Set([...series.ladder, ...series.holds]));
  }
  return copy;
}

/** The throughput of each transaction in the stages of a mix. */
function overTime(report: WrittenReport, target: string, stages: Set<number>): void {
  for (const { load } of report.timelines.filter((timeline) => timeline.target === target)) {
    const { tps = [], stage = [] } = load;
    const none = tps.map(() => null);
    load.by_type = TRANSACTIONS.map(([name, share]) => ({
      name,
      tps: tps.map((all, row) => (all === null || !stages.has(stage[row] ?? -1) ? null : all * share)),
      rolled_back_per_s: none,
      p50_us: none,
      p90_us: none,
      p99_us: none,
    }));
  }
}

function ofType(name: string, share: number, tps: number, seconds: number, p50_us: number): TypeResult {
  const done = Math.round(tps * share * seconds);
  const service = percentiles(p50_us, done);
  const limit_us = name === "stock_level" ? 20e6 : 1e6;
  return {
    name,
    done,
    rolled_back: name === "new_order" ? Math.round(done / 100) : 0,
    share,
    per_s: tps * share,
    failed: 0,
    failed_with_drain: name === "payment" ? 3 : 0,
    retries: name === "payment" ? 1200 : 0,
    service,
    response: null,
    response_limits: [
      { percentile: 90, limit_us, found_us: service.p90_us, kept: service.p90_us <= limit_us },
    ],
    ...(name === "delivery" && {
      counts: [{ key: "districts_skipped", about: "districts skipped", count: 120, per_transaction: 0.3 }],
    }),
  };
}

function percentiles(p50_us: number, count: number): Percentiles {
  return {
    count,
    mean_us: p50_us * 1.2,
    p50_us,
    p90_us: p50_us * 2.4,
    p95_us: p50_us * 3,
    p99_us: p50_us * 6,
    p999_us: p50_us * 20,
    max_us: p50_us * 40,
  };
}
