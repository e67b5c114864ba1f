// SYNTHETIC TEST DATA. Nothing here was measured: two streams at the same time on each target, one that goes up a ladder and
// one that accompanies it, made up by formula. For the tests only; never for a document.

import type { Series, StageResult, WrittenLoad, WrittenReport, WrittenTimeline } from "../src/document";
import { estimate, syntheticReport, totals } from "./fixture";

const CLIENTS = [1, 2, 4, 8];
const SECONDS = 6;
const STREAMS = ["oltp", "reports"];

/** `oltp` is the first stream, and its ladder is that of the axis; `reports` has one client and began some milliseconds earlier. */
export function streamsReport(targets = ["pg"]): WrittenReport {
  const base = syntheticReport();
  const [first] = base.stages;
  const [pg] = base.targets;
  const [told] = base.timelines;
  if (first === undefined || pg === undefined || told === undefined)
    throw new Error("the fixture has changed");
  const stages: StageResult[] = [];
  let clock = 5;
  const turn = (kind: StageResult["kind"], load: number) => {
    for (const target of targets) {
      // The first to begin is the second stream.
      for (const [stream, series] of [...STREAMS.entries()].reverse()) {
        const clients = stream === 0 ? load : 1;
        const tps = stream === 0 ? 900 * Math.sqrt(load) : 4 - Math.log2(load) / 2;
        stages.push({
          ...first,
          id: stages.length,
          target,
          series,
          ...(stream === 0 ? {} : { stream, accompanies: stages.length + 1 }),
          kind,
          workload: stream === 0 ? "tpcb/tpcb-like" : "tpch/queries",
          clients,
          start_s: clock + (stream === 0 ? 0.01 : 0),
          seconds: SECONDS,
          throughput: estimate(tps, 0.05, SECONDS),
          totals: totals(Math.round(tps * SECONDS)),
          by_type: [],
        });
      }
    }
    clock += SECONDS + 0.3;
  };
  for (const clients of CLIENTS) turn("ladder", clients);
  turn("hold", 4);
  const own = (target: string, series: string) =>
    stages.filter((stage) => stage.target === target && stage.series === series);
  return {
    ...base,
    run: {
      ...base.run,
      name: "synthetic-streams-1",
      seconds: clock,
      resolved: { phases: [{ together: true }] },
    },
    targets: targets.map((name) => ({ ...pg, name })),
    hosts: base.hosts.map((host) => ({ ...host, roles: ["driver", ...targets] })),
    data: [],
    settings: [],
    prepare: [],
    checks: [],
    findings: [],
    series: targets.flatMap((target) => STREAMS.toReversed().map((series) => seriesOf(own(target, series)))),
    stages,
    timelines: targets.flatMap((target) =>
      STREAMS.map((series, stream): WrittenTimeline => {
        const metrics = stream === 0 ? told.metrics : [];
        return { target, ...(stream === 0 ? {} : { stream }), load: loadOf(own(target, series)), metrics };
      }),
    ),
    hooks: targets.map((target) => ({
      at_s: 4.5,
      target,
      about: "oltp",
      when: "before",
      action: "echo 3 > /proc/sys/vm/drop_caches",
      seconds: 0.2,
      succeeded: true,
      said: null,
    })),
  };
}

function seriesOf(stages: StageResult[]): Series {
  const [stage] = stages;
  const ladder = stages.filter(({ kind }) => kind === "ladder");
  const hold = stages.find(({ kind }) => kind === "hold");
  const top = ladder.at(-1);
  if (stage === undefined || hold?.throughput == null || top?.throughput == null)
    throw new Error("the fixture has no such stages");
  const rises = stage.series === "oltp";
  return {
    target: stage.target,
    name: stage.series,
    phase: 0,
    stream: stage.stream ?? 0,
    workload: stage.workload,
    ladder: ladder.map(({ id }) => id),
    holds: [hold.id],
    headline: {
      stages: [hold.id],
      stage: hold.id,
      throughput: hold.throughput,
      latency: hold.service,
      cpu_taken_share: null,
    },
    peak: rises
      ? {
          stage: top.id,
          clients: top.clients,
          throughput: { ...top.throughput, half_width: null },
          clients_indistinguishable: [4, 8],
          indistinguishable_from: "4",
          passed: false,
          rate_met: false,
        }
      : null,
    saturation: null,
    findings: [],
  };
}

function loadOf(stages: StageResult[]): WrittenLoad {
  const load: Record<string, number[]> = {
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
  for (const stage of stages) {
    for (let second = 0; second < stage.seconds; second += 1) {
      const { service, throughput } = stage;
      const row: Record<string, number> = {
        t_s: stage.start_s + second + 0.5,
        stage: stage.id,
        clients: stage.clients,
        tps: (throughput?.mean ?? 0) * (1 + ((second * 7) % 5) / 50),
        failed_per_s: 0,
        p50_us: service?.p50_us ?? 0,
        p95_us: service?.p95_us ?? 0,
        p99_us: service?.p99_us ?? 0,
        max_us: service?.max_us ?? 0,
      };
      for (const [name, value] of Object.entries(row)) load[name]?.push(value);
    }
  }
  return load as unknown as WrittenLoad;
}
