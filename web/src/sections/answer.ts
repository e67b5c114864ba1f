// The answer first: what was tested, how much it does for reads and for writes, and how far that may be believed.

import { signOf } from "../charts/marks";
import type { Finding, Limit, Peak, Report, Series, StageResult, Target } from "../document";
import { type Child, el, icon, orUnknown, timeOf } from "../dom";
import {
  bytes,
  clock,
  cores,
  count,
  counted,
  duration,
  latency,
  long,
  relativeError,
  share,
  short,
} from "../format";
import {
  arrivalText,
  askedText,
  clientsText,
  holdOf,
  isLive,
  isQuerySet,
  latencyName,
  latencyOf,
  ledBy,
  peakAt,
  repeatsOf,
  stageOf,
  standingFor,
} from "../reading";
import { drawnAs, type Lane, productOf, type Scene, seriesNames, seriesOfLane } from "../scene";
import { placeOfFinding, severitySign } from "./findings";
import { caveat, passesParts } from "./passes";

export function masthead(report: Report, toggle: HTMLElement): HTMLElement {
  const { run, variants } = report;
  const products = [...Map.groupBy(report.targets, productOf)];
  const title =
    products
      .map(([name, { length }]) => (length > 1 && !variants ? `${length} × ${name}` : name))
      .join(" and ") || "Unknown target";
  return el(
    "header",
    { class: "masthead" },
    isLive(report) ? null : quotes(report),
    el(
      "div",
      { class: "imprint" },
      el("span", { class: "brand" }, "dyno"),
      el("span", {}, `run ${run.name}`),
      timeOf(run.started_at),
      el("span", {}, duration(run.seconds)),
      outcome(report),
      toggle,
    ),
    el("h1", {}, variants ? `${variants.systems.length} variants on ${title}` : title),
    ...report.targets.map((target) => el("p", { class: "subject" }, subject(report, target))),
    run.outcome === "incomplete" &&
      !isLive(report) &&
      el(
        "p",
        { class: "incomplete", role: "note" },
        icon("fail"),
        el("strong", {}, "Incomplete: "),
        (run.reason ?? "the run was ended before it could say why").replace(/\.$/, ""),
        ". What was measured until then is shown.",
      ),
    ...report.lost.map((lost) =>
      el(
        "p",
        { class: "incomplete", role: "note" },
        icon("fail"),
        el("strong", {}, `${lost.target} was lost after ${clock(lost.at_s)}: `),
        lost.reason.replace(/\.$/, ""),
        ". The other targets went on.",
      ),
    ),
  );
}

/** What to quote of each series, or why nothing: the first lines of the page, and of each run of several. */
export function quotes(report: Report): Child[] {
  return report.quotes.map(({ text }) => el("p", { class: "quote" }, el("b", {}, "quote: "), text));
}

export function outcome(report: Report): HTMLElement {
  if (isLive(report)) return liveBadge();
  return report.run.outcome === "complete"
    ? el("span", { class: "badge good" }, icon("pass"), "complete")
    : el("span", { class: "badge bad" }, icon("fail"), "INCOMPLETE");
}

export function liveBadge(): HTMLElement {
  return el("span", { class: "badge live" }, el("i", { class: "pulse", "aria-hidden": "true" }), "live");
}

/** `embedded · production profile · 2 cores, 24 GiB, nvme · same host as the driver` */
function subject(report: Report, target: Target): Child[] {
  const host = report.hosts.find((candidate) => candidate.roles.includes(target.name));
  const parts: Child[] = [];
  if (report.targets.length > 1) parts.push(el("strong", {}, target.name));
  if (target.embedded === null) {
    parts.push(target.url);
  } else {
    const { profile, unsafe_profile } = target.embedded;
    parts.push("embedded", `${profile} profile`);
    if (unsafe_profile)
      parts.push(el("strong", { class: "unsafe" }, icon("fail"), "UNSAFE: a crash loses data"));
  }
  if (host === undefined) {
    parts.push("hardware unknown");
  } else {
    const limited = host.cpus_limit !== null && host.cpus !== null && host.cpus_limit < host.cpus;
    const cpus = limited
      ? `${cores(host.cpus_limit)} of ${counted(host.cpus, "core")}`
      : counted(host.cpus, "core");
    const memory = bytes(host.memory_limit_bytes ?? host.memory_bytes);
    parts.push(host.cpu_model ?? "CPU model unknown", cpus, `${memory} memory`);
    const disk = target.disk_kind ?? host.disk_kind;
    parts.push(disk === null ? "disk unknown" : `${diskName(disk)} disk`);
  }
  parts.push(
    target.same_host === null
      ? "unknown whether on the driver's host"
      : target.same_host
        ? "same host as the driver"
        : "on a host of its own",
  );
  return parts.flatMap((part, index): Child[] =>
    index === 0 ? [part] : [el("span", { class: "dot" }, " · "), part],
  );
}

function diskName(kind: string): string {
  const names: Record<string, string> = { nvme: "NVMe", ssd: "SSD", hdd: "hard" };
  return names[kind] ?? kind;
}

/** A card for each series of each target, those of one series beside each other. */
export function answers(scene: Scene): HTMLElement {
  const several = scene.lanes.length > 1;
  const groups = seriesNames(scene).map((name) => {
    const cards = scene.lanes.flatMap((lane) => {
      const series = seriesOfLane(lane, name);
      return series === undefined ? [] : [answer(scene, lane, series)];
    });
    return several
      ? el(
          "div",
          { class: "group" },
          el("h2", {}, name),
          caveats(scene, name),
          el("div", { class: "cards" }, cards),
        )
      : cards;
  });
  return el(
    "section",
    { id: "answer", class: several ? "answers several" : "answers", "aria-label": "The answer" },
    groups.length > 0 ? groups : el("p", { class: "nothing" }, "Nothing was measured."),
  );
}

/** What must stand beside the figures of a series, once for all targets. */
function caveats(scene: Scene, name: string): Child[] {
  const all = scene.lanes.flatMap((lane) => seriesOfLane(lane, name)?.caveat ?? []);
  return [...new Set(all)].map(caveat);
}

function answer(scene: Scene, lane: Lane, series: Series): HTMLElement {
  const { report } = lane;
  const several = scene.lanes.length > 1;
  const hold = holdOf(report, series);
  const own = series.findings.flatMap((place) => report.findings[place] ?? []);
  const invalid = own.some((finding) => finding.severity === "invalid");
  const look = drawnAs(scene, lane, series);
  const ofQueries = isQuerySet(report, series);
  const title = several ? lane.label : series.name;
  const card = el(
    "article",
    {
      class: invalid ? "answer doubted" : "answer",
      "aria-label": several ? `${lane.label}, ${series.name}` : title,
    },
    el(
      "header",
      {},
      el(several ? "h3" : "h2", { class: "whose" }, scene.streams.length > 1 && signOf(look), title),
      el(
        "span",
        { class: "workload" },
        several ? productOf(lane.target) : series.workload,
        hold !== null && ` · ${ofQueries ? clientsText(hold) : arrivalText(hold)}`,
      ),
    ),
    !several && caveat(series.caveat),
    ofQueries ? [passesParts(report, series), othersLine(series)] : loadParts(report, series, hold),
    marks(own, (finding) => placeOfFinding(finding, lane, scene)),
  );
  card.style.setProperty("--own", `var(--${look.colour})`);
  return card;
}

function loadParts(report: Report, series: Series, hold: StageResult | null): Child[] {
  return [
    headline(report, series, hold),
    workloadFigure(series),
    figures(report, series),
    othersLine(series),
    repeatsLine(report, series),
    ...ladderLines(report, series, hold),
    hold !== null && outcomes(hold),
  ];
}

/** What its ladder came to, or whose ladder it accompanied. */
function ladderLines(report: Report, series: Series, hold: StageResult | null): Child[] {
  const leader = ledBy(report, series);
  if (leader !== null)
    return [el("p", { class: "detail" }, `Its load stayed the same beside the ladder of ${leader}.`)];
  return [peakLine(report, series, hold), saturationLines(report, series)];
}

/** What others had of the processors meanwhile, where that is seen at all. */
function othersLine({ headline }: Series): Child {
  const taken = headline?.cpu_taken_share ?? 0;
  return (
    taken >= 0.005 && el("p", { class: "detail" }, `Others took ${share(taken)} of the host's processors.`)
  );
}

/** Percentiles of the stage that stands for the series. */
function figures(report: Report, series: Series): Child {
  const stage = standingFor(report, series);
  return stage === null ? null : percentiles(stage);
}

/** Where it was saturated, by what that shows, and what was at its limit there. */
function saturationLines(report: Report, series: Series): Child {
  const { saturation } = series;
  if (saturation === null) {
    const none = isLive(report) ? "No saturation so far." : "No saturation was found on this ladder.";
    return isSearch(series) && el("p", { class: "detail" }, none);
  }
  const stage = report.stages.find((one) => one.id === saturation.stage);
  const load =
    saturation.rate_per_s === null
      ? counted(saturation.clients, "client")
      : `${long(saturation.rate_per_s)}/s`;
  const last = report.stages.find((one) => one.id === saturation.last_good);
  const others = saturation.taken_by_others ?? [];
  const good = last === undefined ? "" : `. Still good at ${askedText(last)}.`;
  return el(
    "div",
    { class: "saturation" },
    el(
      "p",
      { class: "detail" },
      el("strong", {}, `Saturated at ${load}`),
      stage?.complete === false && " (cut short)",
      `: ${saturation.evidence}${good}`,
    ),
    limitsOf(saturation.limits, "What was at its limit"),
    others.length > 0 &&
      el("p", { class: "detail" }, "Others took what was missing, so the cause is not known:"),
    limitsOf(others, "What others took"),
    saturation.limits.length + others.length === 0 &&
      el("p", { class: "detail" }, "Nothing that was read was at its limit; the cause is unknown."),
  );
}

function limitsOf(limits: Limit[], label: string): Child {
  return limits.length > 0 && el("ul", { class: "limits", "aria-label": label }, limits.map(limit));
}

function limit({ resource, share: full, evidence }: Limit): HTMLElement {
  const bar = el("span", { class: "gauge", "aria-hidden": "true" }, el("i", {}));
  bar.style.setProperty("--full", `${Math.min(1, Math.max(0, full)) * 100}%`);
  return el(
    "li",
    {},
    el("b", {}, resource),
    bar,
    el("span", { class: "full" }, share(full)),
    el("span", { class: "why" }, evidence),
  );
}

/** The figure that stands for the series, and how it was measured. */
function headline(report: Report, series: Series, hold: StageResult | null): Child {
  const stage = standingFor(report, series);
  const estimate = stage?.throughput ?? null;
  if (stage === null || estimate === null) {
    return el("p", { class: "headline" }, el("span", { class: "figure" }, orUnknown(null)));
  }
  const how = hold?.throughput == null ? whereOf(report, series) : held(hold);
  return el(
    "p",
    { class: "headline" },
    el("span", { class: "figure" }, long(estimate.mean)),
    el("span", { class: "unit" }, "TPS"),
    // The best of several has no interval.
    (hold?.throughput != null || !isSearch(series)) &&
      el("span", { class: "error", title: "half-width of the 95% interval" }, relativeError(estimate)),
    el("span", { class: "how" }, how, !stage.complete && el("strong", {}, " (cut short)")),
  );
}

const PER = { second: "a second", minute: "a minute", hour: "an hour" };

/** What the workload counts: `1,080 new orders a minute ±3.1%`, the share of what is possible, and what must be known of it. */
function workloadFigure({ headline }: Series): Child {
  if (headline?.figure === undefined) return null;
  const { about, per, value, at_most, possible_share, note } = headline.figure;
  return el(
    "p",
    { class: "headline counted" },
    el("span", { class: "figure" }, long(value.mean)),
    el("span", { class: "unit" }, `${about} ${PER[per]}`),
    value.half_width !== null &&
      el("span", { class: "error", title: "half-width of the 95% interval" }, relativeError(value)),
    possible_share !== null &&
      el("span", { class: "how" }, `${share(possible_share)} of the possible ${long(at_most)}`),
    note !== undefined && el("span", { class: "how" }, note),
  );
}

/** `Median of 3 repeats: 11.8k, 17.4k and 18.3k TPS.` */
function repeatsLine(report: Report, series: Series): Child {
  const each = repeatsOf(report, series).map(({ throughput }) => short(throughput?.mean));
  if (each.length < 2) return null;
  const all = `${each.slice(0, -1).join(", ")} and ${each.at(-1)}`;
  return el("p", { class: "detail" }, `Median of ${each.length} repeats: ${all} TPS.`);
}

/** `peak of the ladder, 8 clients`; of a single step `with 8 clients`, `at 5,000/s`. */
function whereOf(report: Report, series: Series): string {
  if (series.peak === null) return "in the first step";
  const { text } = peakAt(report, series.peak);
  if (series.peak.rate_met) return `at ${text}, the highest rate, which was met`;
  if (isSearch(series)) return `peak of the ladder, ${text}`;
  return stageOf(report, series.peak.stage)?.arrival === "open" ? `at ${text}` : `with ${text}`;
}

function held(hold: StageResult): string {
  const how = `${hold.kind === "ramp" ? "over a ramp of" : "held for"} ${duration(hold.seconds)}`;
  // In an open loop the rate was asked for, and clients are only as many as could be used.
  return hold.arrival === "open" ? `${how} ${offered(hold)}` : `${how} with ${clientsText(hold)}`;
}

function offered(hold: StageResult & { arrival: "open" }): string {
  const [from, to] = [hold.rate_per_s, hold.rate_end_per_s];
  if (to === null || to === from) return `at the ${long(from)}/s that were offered`;
  return `while the rate ${to > from ? "rose" : "fell"} from ${long(from)}/s to ${long(to)}/s`;
}

function percentiles(hold: StageResult): Child {
  const found = latencyOf(hold);
  const figures: [string, number | undefined][] = [
    ["p50", found?.p50_us],
    ["p90", found?.p90_us],
    ["p99", found?.p99_us],
    ["p99.9", found?.p999_us],
    ["max", found?.max_us],
  ];
  return el(
    "dl",
    { class: "percentiles", title: latencyName(hold) },
    figures.map(([name, us]) => el("div", {}, el("dt", {}, name), el("dd", {}, orUnknown(latency(us))))),
  );
}

function isSearch(series: Series): boolean {
  return series.ladder.length > 1;
}

function onlyRung(report: Report, only: Peak): Child {
  const figure = el("strong", {}, `${short(only.throughput.mean)} TPS`);
  const where = ` ${relativeError(only.throughput)} at ${peakAt(report, only).text}`;
  return el("p", { class: "detail" }, "Before it, ", figure, `${where}.`);
}

function peakLine(report: Report, series: Series, hold: StageResult | null): Child {
  const { peak } = series;
  // One client count is a choice and no search for a peak.
  if (peak !== null && !isSearch(series)) return hold?.throughput != null && onlyRung(report, peak);
  if (peak === null) return el("p", { class: "detail" }, "No ladder was run, so no peak is known.");
  if (peak.rate_met) {
    if (hold?.throughput == null) return null;
    return el(
      "p",
      { class: "detail" },
      `The highest rate of the ladder, ${peakAt(report, peak).text}, was met.`,
    );
  }
  const { text, alike } = peakAt(report, peak);
  const parts: Child[] = [];
  if (hold?.throughput == null && alike === "" && peak.passed) return null;
  if (hold?.throughput != null) {
    parts.push("Peak ", el("strong", {}, `${short(peak.throughput.mean)} TPS`), ` at ${text}`);
  } else {
    parts.push(`At ${text}`);
  }
  if (alike !== "") parts.push(`, indistinguishable from ${alike}`);
  const beyond = isLive(report) ? " so far." : "; the ladder ended before throughput had clearly passed it.";
  parts.push(peak.passed ? "." : beyond);
  return el("p", { class: "detail" }, parts);
}

function outcomes(hold: StageResult): Child {
  const { done, failed_with_drain: failed, unknown_with_drain: unknown, retries } = hold.totals;
  const warn = (times: number, words: string): Child =>
    times > 0 ? el("strong", { class: "warned" }, `${count(times)} ${words}`) : `${count(times)} ${words}`;
  const parts: Child[] = [`${count(done)} transactions`, " · ", warn(failed, "failed")];
  if (unknown > 0) parts.push(" · ", warn(unknown, "of unknown outcome"));
  if (retries > 0) parts.push(` · ${count(retries)} ${retries === 1 ? "retry" : "retries"}`);
  return el("p", { class: "detail" }, parts);
}

/** The findings that stand beside this number, by name; the list has their text. */
function marks(findings: Finding[], placeOf: (finding: Finding) => string): Child {
  if (findings.length === 0) return null;
  const seen = new Set<string>();
  const links = findings
    .filter(({ code }) => !seen.has(code) && seen.add(code))
    .map((finding) =>
      el(
        "li",
        {},
        el(
          "a",
          { href: `#${placeOf(finding)}`, class: `mark ${finding.severity}` },
          severitySign(finding.severity),
          " ",
          finding.code,
        ),
      ),
    );
  return el("ul", { class: "marks", "aria-label": "Findings that concern this figure" }, links);
}
