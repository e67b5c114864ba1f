// The answer first: what was tested, how much it does for reads and for writes, and how far that may be believed.

import type { Finding, Peak, Report, Series, StageResult, Target } from "../document";
import { type Child, el, icon, orUnknown } from "../dom";
import {
  bytes,
  cores,
  count,
  counted,
  duration,
  latency,
  long,
  moment,
  relativeError,
  short,
} from "../format";
import {
  arrivalText,
  bySeverity,
  clientsText,
  concerns,
  holdOf,
  latencyName,
  latencyOf,
  seriesColour,
  seriesTitle,
} from "../reading";
import { severityMark } from "./findings";

export function masthead(report: Report, toggle: HTMLElement): HTMLElement {
  const { run } = report;
  const title = report.targets.map(product).join(" and ") || "Unknown target";
  return el(
    "header",
    { class: "masthead" },
    el(
      "div",
      { class: "imprint" },
      el("span", { class: "brand" }, "dyno"),
      el("span", {}, `run ${run.name}`),
      el("span", {}, moment(run.started_at)),
      el("span", {}, duration(run.seconds)),
      outcome(report),
      toggle,
    ),
    el("h1", {}, title),
    ...report.targets.map((target) => el("p", { class: "subject" }, subject(report, target))),
    run.outcome === "incomplete" &&
      el(
        "p",
        { class: "incomplete", role: "note" },
        icon("fail"),
        el("strong", {}, "Incomplete: "),
        (run.reason ?? "the run was ended before it could say why").replace(/\.$/, ""),
        ". What was measured until then is shown.",
      ),
  );
}

function outcome(report: Report): HTMLElement {
  return report.run.outcome === "complete"
    ? el("span", { class: "badge good" }, icon("pass"), "complete")
    : el("span", { class: "badge bad" }, icon("fail"), "INCOMPLETE");
}

function product(target: Target): string {
  return `${target.product ?? "Unrecognised product"} ${target.version ?? "(version unknown)"}`;
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
    parts.push(host.disk_kind === null ? "disk unknown" : `${diskName(host.disk_kind)} disk`);
  }
  parts.push(
    target.same_host === null
      ? "unknown whether on the driver's host"
      : target.same_host
        ? "same host as the driver"
        : "on a host of its own",
  );
  return parts.flatMap((part, index): Child[] =>
    index === 0 ? [part] : [el("span", { class: "dot", "aria-hidden": "true" }, " · "), part],
  );
}

function diskName(kind: string): string {
  const names: Record<string, string> = { nvme: "NVMe", ssd: "SSD", hdd: "hard" };
  return names[kind] ?? kind;
}

export function answers(report: Report): HTMLElement {
  const cards = report.series.map((series) => answer(report, series));
  return el(
    "section",
    { id: "answer", class: "answers", "aria-label": "The answer" },
    cards.length > 0 ? cards : el("p", { class: "nothing" }, "Nothing was measured."),
  );
}

function answer(report: Report, series: Series): HTMLElement {
  const hold = holdOf(report, series);
  const own = bySeverity(report.findings).filter((finding) => concerns(finding, report, series));
  const invalid = own.some((finding) => finding.severity === "invalid");
  const card = el(
    "article",
    { class: invalid ? "answer doubted" : "answer", "aria-label": seriesTitle(report, series) },
    el(
      "header",
      {},
      el("h2", {}, seriesTitle(report, series)),
      el("span", { class: "workload" }, series.workload, hold !== null && ` · ${arrivalText(hold)}`),
    ),
    headline(series, hold),
    hold !== null && hold.throughput !== null && percentiles(hold),
    peakLine(series, hold),
    hold !== null && outcomes(hold),
    marks(own),
  );
  card.style.setProperty("--own", `var(--${seriesColour(report, series)})`);
  return card;
}

/** The figure that stands for the series: its hold's, else its peak's. */
function headline(series: Series, hold: StageResult | null): Child {
  const estimate = hold?.throughput ?? series.peak?.throughput;
  if (estimate === null || estimate === undefined) {
    return el("p", { class: "headline" }, el("span", { class: "figure" }, orUnknown(null)));
  }
  const how =
    hold?.throughput == null
      ? `${isSearch(series) ? "peak of the ladder, " : "with "}${counted(series.peak?.clients, "client")}`
      : held(hold);
  return el(
    "p",
    { class: "headline" },
    el("span", { class: "figure" }, long(estimate.mean)),
    el("span", { class: "unit" }, "TPS"),
    el("span", { class: "error", title: "half-width of the 95% interval" }, relativeError(estimate)),
    el("span", { class: "how" }, how, hold?.complete === false && el("strong", {}, " (cut short)")),
  );
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

function onlyRung(only: Peak): Child {
  const figure = el("strong", {}, `${short(only.throughput.mean)} TPS`);
  const where = ` ${relativeError(only.throughput)} at ${counted(only.clients, "client")}`;
  return el("p", { class: "detail" }, "Before it, ", figure, `${where}.`);
}

function peakLine(series: Series, hold: StageResult | null): Child {
  const { peak } = series;
  // One client count is a choice and no search for a peak.
  if (peak !== null && !isSearch(series)) return hold?.throughput != null && onlyRung(peak);
  if (peak === null) return el("p", { class: "detail" }, "No ladder was run, so no peak is known.");
  const alike = peak.clients_indistinguishable.filter((clients) => clients !== peak.clients);
  const parts: Child[] = [];
  if (hold?.throughput != null) {
    parts.push(
      "Peak ",
      el("strong", {}, `${short(peak.throughput.mean)} TPS`),
      ` ${relativeError(peak.throughput)} at ${counted(peak.clients, "client")}`,
    );
  } else {
    parts.push(`At ${counted(peak.clients, "client")}`);
  }
  if (alike.length > 0) parts.push(` (${alike.map(count).join(", ")} cannot be told from it)`);
  parts.push(peak.passed ? "." : "; the ladder ended before throughput had clearly passed it.");
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
function marks(findings: Finding[]): Child {
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
          { href: "#findings", class: `mark ${finding.severity}` },
          severityMark(finding),
          finding.code,
        ),
      ),
    );
  return el("ul", { class: "marks", "aria-label": "Findings that concern this figure" }, links);
}
