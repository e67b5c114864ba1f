// Why the numbers may be believed less, and what was verified.

import type { Check, Finding, Report, Severity } from "../document";
import { type Child, el, type IconName, icon, section } from "../dom";
import { bySeverity } from "../reading";

const SIGNS: Record<Severity, IconName> = { invalid: "fail", doubt: "doubt", note: "note" };

export function severityMark(finding: Finding): HTMLElement {
  return el(
    "span",
    { class: `severity ${finding.severity}` },
    icon(SIGNS[finding.severity]),
    finding.severity,
  );
}

export function findingsSection(report: Report): HTMLElement {
  const findings = bySeverity(report.findings);
  const items = findings.map((finding) =>
    el(
      "li",
      { class: `finding ${finding.severity}` },
      el(
        "h3",
        {},
        severityMark(finding),
        el("code", {}, finding.code),
        finding.about !== null && el("span", { class: "about" }, finding.about),
      ),
      el("p", {}, unbroken(finding.evidence)),
      finding.advice !== "" && el("p", { class: "advice" }, unbroken(finding.advice)),
    ),
  );
  return section(
    "findings",
    "Findings",
    items.length > 0
      ? el("ul", { class: "findings" }, items)
      : el("p", { class: "nothing" }, "No rule found anything to say of these numbers."),
  );
}

/** Text whose flags, as `--rate`, do not break across lines; it is copied as it was written. */
function unbroken(text: string): Child[] {
  return text
    .split(/(--[a-z][a-z-]*)/)
    .map((part) => (part.startsWith("--") ? el("span", { class: "flag" }, part) : part));
}

export function verificationSection(report: Report): HTMLElement {
  const items = report.checks.map((check) =>
    el("li", {}, verdict(check), el("span", {}, check.detail === "" ? check.name : check.detail)),
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
