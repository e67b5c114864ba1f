// The head of an overlay: what differs between its runs, and how each of them was run.

import type { Report } from "../document";
import { type Child, el, timeOf } from "../dom";
import { duration } from "../format";
import { isLive } from "../reading";
import { productOf, type Scene } from "../scene";
import { outcome, quotes } from "./answer";
import { commandLine } from "./evidence";

/** Of a specification, what differs between any two runs and makes no difference to what is measured. */
const NO_DIFFERENCE = ["name", "seed", "target", "version"];
/** Differences that are named in the title; all of them stand with the runs. */
const NAMED_MAX = 4;
const NOT_GIVEN = "not given";

/** `2 runs that differ in profile and clients` */
export function overlayTitle(reports: Report[]): string {
  const names = differences(reports).map(({ name }) => name);
  const shown = names.slice(0, names.length > NAMED_MAX ? NAMED_MAX - 1 : NAMED_MAX);
  if (shown.length < names.length) shown.push(`${names.length - shown.length} more`);
  const runs = `${reports.length} runs`;
  if (shown.length === 0) return `${runs} of the same specification`;
  return `${runs} that differ in ${[shown.slice(0, -1).join(", "), shown.at(-1)].filter(Boolean).join(" and ")}`;
}

export function overlayMasthead(
  scene: Scene,
  toggle: HTMLElement,
  linkTo: (run: string) => string,
): HTMLElement {
  const all = differences(scene.reports);
  const runs = scene.reports.map((report, index) => {
    const { run, targets } = report;
    const own = all.map(({ name, values }) => `${name}: ${values[index] ?? NOT_GIVEN}`);
    const parts: Child[] = [
      el("a", { href: linkTo(run.name) }, run.name),
      `${targets.map(productOf).join(" and ")} · `,
      timeOf(run.started_at),
      ` · ${duration(run.seconds)} `,
      outcome(report),
    ];
    return el(
      "li",
      {},
      el("p", {}, ...parts),
      isLive(report) ? null : quotes(report),
      own.length > 0 && el("p", {}, el("b", {}, own.join(" · "))),
      el("code", {}, commandLine(run)),
    );
  });
  return el(
    "header",
    { class: "masthead" },
    el("div", { class: "imprint" }, el("span", { class: "brand" }, "dyno"), "overlay", toggle),
    el("h1", {}, overlayTitle(scene.reports)),
    el("ul", { class: "overlaid" }, runs),
  );
}

interface Difference {
  name: string;
  /** Of each run; undefined where it has none. */
  values: (string | undefined)[];
}

/** In what the runs were asked for with all defaults, and in what they ran on. */
function differences(reports: Report[]): Difference[] {
  const each = reports.map(traitsOf);
  const names = [...new Set(each.flatMap((traits) => [...traits.keys()]))];
  return names
    .map((name) => ({ name, values: each.map((traits) => traits.get(name)) }))
    .filter(({ values }) => new Set(values).size > 1);
}

function traitsOf({ run, targets, hosts }: Report): Map<string, string> {
  const traits = new Map([
    ["product", targets.map(productOf).join(", ")],
    [
      "processor",
      hosts.map(({ cpu_model, cpus }) => `${cpus ?? "?"} × ${cpu_model ?? "unknown"}`).join(", "),
    ],
    ["dyno", run.dyno_version],
  ]);
  addLeaves(run.resolved ?? run.spec, "", traits);
  for (const name of NO_DIFFERENCE) traits.delete(name);
  return traits;
}

/** The values of a specification under the last of their names: `--profile extreme` as `profile`, `extreme`. */
function addLeaves(value: unknown, name: string, into: Map<string, string>): void {
  if (value === null || value === undefined) return;
  if (typeof value === "object") {
    for (const [key, inner] of Object.entries(value))
      addLeaves(inner, Array.isArray(value) ? name : key, into);
  } else {
    const before = into.get(name);
    into.set(name, before === undefined ? String(value) : `${before}, ${value}`);
  }
}
