// Why the numbers may be believed less, and what was verified.

import { signOf } from "../charts/marks";
import type { Check, Finding, Report, Severity } from "../document";
import { type Child, el, type IconName, icon, section } from "../dom";
import { counted } from "../format";
import type { Lane, Scene } from "../scene";

const SIGNS: Record<Severity, IconName> = { invalid: "fail", doubt: "doubt", note: "note" };

/** A severity by its sign and its word, or another word for it. */
export function severitySign(severity: Severity, word: string = severity): HTMLElement {
  return el("span", { class: `severity ${severity}` }, icon(SIGNS[severity]), word);
}

interface Group {
  id: string;
  /** Null for what is about no one target. */
  lane: Lane | null;
  findings: Finding[];
}

/** The findings of each target, those of a run after those of its targets. */
function groupsOf(scene: Scene): Group[] {
  return scene.reports.flatMap((report) => {
    const own = scene.lanes.filter((lane) => lane.report === report);
    return [...own, null].flatMap((lane) => {
      const findings = report.findings.filter((finding) => laneOf(finding, own) === lane);
      return findings.length === 0 ? [] : [{ id: groupId(lane?.key ?? report.run.name), lane, findings }];
    });
  });
}

function laneOf(finding: Finding, own: Lane[]): Lane | null {
  if (own.length === 1) return own[0] ?? null;
  if (finding.about === null) return null;
  const concerned = own.filter(({ report, target }) => {
    const place = report.findings.indexOf(finding);
    return report.series.some((series) => series.target === target.name && series.findings.includes(place));
  });
  return concerned.length === 1 ? (concerned[0] ?? null) : null;
}

function groupId(name: string): string {
  return `findings-${name}`;
}

/** Where a finding stands that is told beside a figure of this lane. */
export function placeOfFinding(finding: Finding, lane: Lane, scene: Scene): string {
  const own = scene.lanes.filter(({ report }) => report === lane.report);
  return groupId(laneOf(finding, own)?.key ?? lane.report.run.name);
}

/** Each target's findings as one line that opens; open from the start where they all say that the figures are invalid. */
export function findingsSection(scene: Scene): HTMLElement {
  const groups = groupsOf(scene);
  return section(
    "findings",
    "Findings",
    groups.length > 0
      ? groups.map((group) =>
          el(
            "details",
            { id: group.id, open: group.findings.every(({ severity }) => severity === "invalid") },
            el("summary", {}, ...summary(group, scene)),
            list(group.findings),
          ),
        )
      : el("p", { class: "nothing" }, "No rule found anything to say of these numbers."),
  );
}

/** Whose findings they are, and how many of each severity; invalid ones by name. */
function summary({ lane, findings }: Group, scene: Scene): Child[] {
  const counts = (["invalid", "doubt", "note"] as const).flatMap((severity) => {
    const codes = findings.filter((finding) => finding.severity === severity).map(({ code }) => code);
    if (codes.length === 0) return [];
    if (severity === "invalid") return [severitySign(severity, `invalid: ${[...new Set(codes)].join(", ")}`)];
    return [severitySign(severity, counted(codes.length, severity))];
  });
  const whose = lane === null ? "the whole run" : lane.label;
  return [
    scene.lanes.length > 1 && [lane !== null && signOf(lane), el("b", {}, whose)],
    ...counts.map((sign) => [" ", sign]),
  ];
}

/** The gravest first. Where series have the same finding, its name stands once, and so does an advice that is the same. */
function list(findings: Finding[]): HTMLElement {
  const items = findings.map((finding, index) => {
    const [before, next] = [findings[index - 1], findings[index + 1]];
    const again = before !== undefined && isSame(before, finding);
    const advised = next !== undefined && isSame(next, finding) && next.remedy === finding.remedy;
    return el(
      "li",
      { class: `finding ${finding.severity}${again ? " again" : ""}` },
      el(
        "h3",
        {},
        !again && [severitySign(finding.severity), el("code", {}, finding.code)],
        finding.about !== null && el("span", { class: "about" }, finding.about),
      ),
      el("p", {}, unbroken(finding.evidence)),
      !advised && finding.advice !== "" && el("p", { class: "advice" }, unbroken(finding.advice)),
    );
  });
  return el("ul", {}, items);
}

/** Opens what is folded while the page is printed. Returns a function that stops it. */
export function openInPrint(root: HTMLElement): () => void {
  let folded: HTMLDetailsElement[] = [];
  const before = () => {
    folded = [...root.querySelectorAll<HTMLDetailsElement>("#findings details:not([open])")];
    for (const details of folded) details.open = true;
  };
  const after = () => {
    for (const details of folded.splice(0)) details.open = false;
  };
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  return () => {
    removeEventListener("beforeprint", before);
    removeEventListener("afterprint", after);
  };
}

function isSame(a: Finding, b: Finding): boolean {
  return a.code === b.code && a.severity === b.severity;
}

/** Text whose flags, as `--rate`, do not break across lines; it is copied as it was written. */
function unbroken(text: string): Child[] {
  return text
    .split(/(--[a-z][a-z-]*)/)
    .map((part) => (part.startsWith("--") ? el("span", { class: "flag" }, part) : part));
}

export function verificationSection(scene: Scene): HTMLElement {
  const whose = (report: Report, check: Check) =>
    scene.lanes.length > 1 &&
    el(
      "b",
      { class: "whose" },
      scene.lanes.find((lane) => lane.report === report && lane.target.name === check.target)?.label ??
        check.target,
    );
  const items = scene.reports.flatMap((report) =>
    report.checks.map((check) =>
      el(
        "li",
        {},
        verdict(check),
        whose(report, check),
        el("span", {}, check.detail === "" ? check.name : check.detail),
      ),
    ),
  );
  return section(
    "verification",
    "Verification",
    items.length > 0
      ? el("ul", { class: "checks" }, items)
      : el("p", { class: "nothing" }, "Nothing was verified in this run."),
  );
}

export function verdict(check: Check): HTMLElement {
  if (check.passed === null) return el("span", { class: "verdict doubt" }, icon("unknown"), "not checked");
  return check.passed
    ? el("span", { class: "verdict good" }, icon("pass"), "passed")
    : el("span", { class: "verdict bad" }, icon("fail"), "FAILED");
}
