// How the document is read where more than one place needs the same answer. No opinion of its own: which
// figure stands for a series, which findings concern it, which stages belong to it.

import type { Peak, Percentiles, Report, Series, StageResult } from "./document";
import { count, counted, duration, long, plain, share } from "./format";

/** Response time in an open loop and over a pool, service time where each client has its own connection. */
export function latencyOf(stage: StageResult): Percentiles | null {
  return answersLate(stage) ? stage.response : stage.service;
}

/** Whether a transaction can wait before it is sent, so that its response time is what a user would see. */
function answersLate(stage: StageResult): boolean {
  return stage.arrival === "open" || stage.connections !== null;
}

/** What the latency of a stage is. */
export function latencyName(stage: StageResult): string {
  if (stage.arrival === "open") return "response time, open loop";
  return stage.connections === null ? "service time, closed loop" : "response time, over a pool";
}

export function stageOf(report: Report, id: number): StageResult | undefined {
  return report.stages.find((stage) => stage.id === id);
}

/** The stages of a ladder that exist, by load ascending. */
export function ladderOf(report: Report, series: Series): StageResult[] {
  const rungs = series.ladder.flatMap((id) => stageOf(report, id) ?? []);
  return rungs.sort((a, b) => stepOf(report, a).clients - stepOf(report, b).clients);
}

/** The stage whose load is that of the step: its own, or the one that it accompanied. */
export function stepOf(report: Report, stage: StageResult): StageResult {
  return (stage.accompanies === undefined ? undefined : stageOf(report, stage.accompanies)) ?? stage;
}

/** The series whose ladder a series accompanied; null where it has a course of its own. */
export function ledBy(report: Report, { ladder }: Series): string | null {
  const [rung] = ladder.flatMap((id) => stageOf(report, id) ?? []);
  const step = rung === undefined ? undefined : stepOf(report, rung);
  return step === undefined || step === rung ? null : step.series;
}

/** The stage that stands for a series; of several that repeat each other the middle one, with their medians. */
export function standingFor(report: Report, { headline }: Series): StageResult | null {
  const stage = headline === null ? undefined : stageOf(report, headline.stage);
  if (stage === undefined || headline === null) return null;
  if (headline.stages.length === 1) return stage;
  const { throughput, latency } = headline;
  return { ...stage, throughput, ...(answersLate(stage) ? { response: latency } : { service: latency }) };
}

/** The same where it is a hold or ramp; where nothing was measured in any, the last one. */
export function holdOf(report: Report, series: Series): StageResult | null {
  const stage = standingFor(report, series);
  if (stage !== null && series.holds.includes(stage.id)) return stage;
  return stageOf(report, series.holds.at(-1) ?? -1) ?? null;
}

/** The holds or ramps that a headline is of; none where only a ladder was measured. */
export function repeatsOf(report: Report, series: Series): StageResult[] {
  const ids = series.headline?.stages.filter((id) => series.holds.includes(id)) ?? [];
  return ids.flatMap((id) => stageOf(report, id) ?? []);
}

/** Whether a series is of passes over a query set, also before one has ended. */
export function isQuerySet(report: Report, { target, name, passes }: Series): boolean {
  const own = (stage: StageResult) => stage.target === target && stage.series === name;
  return passes !== undefined || report.stages.some((stage) => stage.pass === true && own(stage));
}

/** Whether nothing else was run, so that throughput over time says nothing. */
export function areQuerySets(reports: Report[]): boolean {
  const all = reports.flatMap((report) => report.series.map((series) => isQuerySet(report, series)));
  return all.length > 0 && all.every((one) => one);
}

/** What a stage is called: one of a query set is a pass. */
export function kindText({ kind, pass }: StageResult): string {
  return pass === true && kind === "hold" ? "pass" : kind;
}

/** What one of a stage's transactions is called. */
export function unitOf({ pass, query_set }: StageResult): "query" | "transaction" {
  return pass === true || query_set === true ? "query" : "transaction";
}

/** What was asked of the server: `8 clients`, or of an open load, whose clients are only as many as it took, `5,000/s`. */
export function askedText(stage: StageResult): string {
  return stage.arrival === "open" ? `${long(stage.rate_per_s)}/s` : counted(stage.clients, "client");
}

/** What was asked for at the peak, and other client counts that were as good, in words; of rates none are known to be. */
export function peakAt(report: Report, peak: Peak): { text: string; alike: string } {
  const stage = stageOf(report, peak.stage);
  if (stage?.arrival === "open") return { text: askedText(stage), alike: "" };
  return { text: counted(peak.clients, "client"), alike: peak.indistinguishable_from ?? "" };
}

/** How the clients of a stage work: `8 clients`, `1 to 64 clients`. */
export function clientsText({
  clients,
  clients_end: end,
}: Pick<StageResult, "clients" | "clients_end">): string {
  return end == null || end === clients
    ? counted(clients, "client")
    : `${count(clients)} to ${counted(end, "client")}`;
}

/** `closed loop`, `closed loop, 5 ms think time`, `open loop, 5,000/s poisson`. */
export function arrivalText(stage: StageResult): string {
  if (stage.arrival === "closed") {
    return stage.think_time_ms > 0
      ? `closed loop, ${plain(stage.think_time_ms)} ms think time${overPool(stage)}`
      : `closed loop${overPool(stage)}`;
  }
  const end = stage.rate_end_per_s;
  const rate = end === null ? long(stage.rate_per_s) : `${long(stage.rate_per_s)} → ${long(end)}`;
  return `open loop, ${rate}/s ${stage.distribution}${overPool(stage)}`;
}

function overPool(stage: StageResult): string {
  return stage.connections === null ? "" : ` over ${count(stage.connections)} connections`;
}

/** Whether the run was still going when its document was asked for. */
export function isLive(report: Report): boolean {
  return report.live === true;
}

/** `Q9 12 s (last 4.1 s) and 2 more`: the query of a pass that goes on the longest, and what it took in the pass before, or
 * else in an earlier run; null
 * where none has gone on for some seconds. */
export function runningText(report: Report, stage: StageResult): string | null {
  const [longest, ...others] = stage.running ?? [];
  if (longest === undefined) return null;
  const before = report.stages.filter(
    (one) => one.id < stage.id && one.target === stage.target && one.series === stage.series,
  );
  const times = before.map(
    ({ by_type }) => by_type.find(({ name }) => name === longest.query)?.service ?? null,
  );
  const last = times.findLast((time) => time !== null);
  const { earlier } = longest;
  const stored = earlier === undefined ? "" : ` (last ${duration(earlier.seconds)} in ${earlier.run})`;
  const known = last == null ? stored : ` (last ${duration(last.mean_us / 1e6)})`;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const read = longest.read_share === undefined ? "" : `, ${share(longest.read_share)} read`;
  return `${longest.query} ${duration(Math.floor(longest.seconds))}${read}${known}${more}`;
}
