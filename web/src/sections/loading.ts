// What loading the data of a query set took on each target, step by step.

import { linearAxis, stackChart } from "../charts/bars";
import { type Child, el, section, table } from "../dom";
import { clock, duration } from "../format";
import { isQuerySet } from "../reading";
import type { Lane, Scene } from "../scene";

/** A lane, and the seconds of each step; null where its data were there already. */
interface Load {
  lane: Lane;
  steps: Map<string, number> | null;
}

export function loadingSection(scene: Scene): HTMLElement | null {
  const all = scene.lanes.flatMap((lane): Load[] => {
    const { report, target } = lane;
    const own = report.series.filter((series) => series.target === target.name && isQuerySet(report, series));
    const families = own.map(({ workload }) => workload.split("/")[0]);
    const steps = new Map<string, number>();
    for (const { target: name, workload, step, seconds } of report.prepare) {
      if (name === target.name && families.includes(workload))
        steps.set(step, (steps.get(step) ?? 0) + seconds);
    }
    return own.length === 0 ? [] : [{ lane, steps: steps.size === 0 ? null : steps }];
  });
  const loaded = all.filter(({ steps }) => steps !== null);
  if (loaded.length === 0) return null;
  const names = [...new Set(loaded.flatMap(({ steps }) => [...(steps?.keys() ?? [])]))];
  const several = scene.lanes.length > 1;
  return section(
    "loading",
    "Loading",
    el(
      "figure",
      { "data-chart": "loading" },
      chart(loaded, names),
      el("figcaption", {}, `From left to right: ${names.join(", ")}.`, asFound(all)),
    ),
    table(
      "Steps of the loading",
      [
        { label: "Step" },
        ...loaded.map(({ lane }) => ({ label: several ? lane.label : "Time", figures: true })),
      ],
      [
        ...names.map((name) => ({ cells: [name, ...loaded.map(({ steps }) => cell(steps?.get(name)))] })),
        { class: "hold", cells: ["total", ...loaded.map((load) => cell(totalOf(load)))] },
      ],
    ),
  );
}

function chart(loaded: Load[], names: string[]): HTMLElement {
  const stacks = loaded.map((load) => ({
    lane: load.lane,
    parts: names.flatMap((name, index) => {
      const value = load.steps?.get(name);
      return value === undefined ? [] : [{ value, index, more: `${name}: ${duration(value)}` }];
    }),
    text: duration(totalOf(load)),
  }));
  const axis = linearAxis(loaded.map(totalOf), (value) => (value === 0 ? "0" : clock(value)));
  return stackChart(stacks, axis, "Seconds of each step of the loading; the table has the same figures.");
}

function asFound(all: Load[]): Child {
  const found = all.filter(({ steps }) => steps === null).map(({ lane }) => lane.label);
  return found.length > 0 && ` Not loaded by this run, used as found: ${found.join(", ")}.`;
}

function totalOf({ steps }: Load): number {
  return [...(steps?.values() ?? [])].reduce((sum, one) => sum + one, 0);
}

function cell(value: number | undefined): string {
  return value === undefined ? "" : duration(value);
}
