// Why the numbers may be believed less, and what was verified.

import type { Check, Finding, Report, Severity } from "../document";
import { type Child, el, type IconName, icon, section } from "../dom";
import { bySeverity } from "../reading";
import type { Scene } from "../scene";

const SIGNS: Record<Severity, IconName> = { invalid: "fail", doubt: "doubt", note: "note" };

export function severityMark({ severity }: Pick<Finding, "severity">): HTMLElement {
  return severitySign(severity);
}

/** A severity by its sign and its word, or another word for it. */
export function severitySign(severity: Severity, word: string = severity): HTMLElement {
  return el("span", { class: `severity ${severity}` }, icon(SIGNS[severity]), word);
}

/** All findings, the gravest first; of several runs with the run's name. */
export function findingsSection(scene: Scene): HTMLElement {
  const runs = new Map(
    scene.reports.flatMap((report) => report.findings.map((finding) => [finding, report.run.name] as const)),
  );
  const findings = bySeverity([...runs.keys()]);
  const about = (finding: Finding) =>
    [...(scene.reports.length > 1 ? [runs.get(finding)] : []), finding.about ?? []].flat().join(" · ");
  const items = findings.map((finding, index) => {
    // Several targets often have the same finding: its name stands once, and so does an advice that is the same.
    const [before, next] = [findings[index - 1], findings[index + 1]];
    const again = before !== undefined && isSame(before, finding);
    const advised = next !== undefined && isSame(next, finding) && next.advice === finding.advice;
    return el(
      "li",
      { class: `finding ${finding.severity}${again ? " again" : ""}` },
      el(
        "h3",
        {},
        !again && [severityMark(finding), el("code", {}, finding.code)],
        about(finding) !== "" && el("span", { class: "about" }, about(finding)),
      ),
      el("p", {}, unbroken(finding.evidence)),
      !advised && finding.advice !== "" && el("p", { class: "advice" }, unbroken(finding.advice)),
    );
  });
  return section(
    "findings",
    "Findings",
    items.length > 0
      ? el("ul", { class: "findings" }, items)
      : el("p", { class: "nothing" }, "No rule found anything to say of these numbers."),
  );
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
