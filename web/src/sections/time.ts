// Everything over time for a target: load, latency, CPU, disk and WAL on one axis, the stages marked.

import type { Charts } from "../charts/chart";
import { drawPanel, releaseGroup, resetOnDoubleClick, TimeView } from "../charts/panel";
import { summarise } from "../charts/scale";
import { missingOf, type Panel, panelsOf } from "../charts/timeline";
import type { Report, StageResult, Timeline } from "../document";
import { type Child, el, section, table } from "../dom";
import { clock } from "../format";
import { arrivalText, clientsText, seriesTitle, stagesOf } from "../reading";

/** Telemetry outside the stages is offered where there is more of it than this, seconds. */
const OUTSIDE_MIN_S = 5;

export interface TimeSection {
  element: HTMLElement;
  views: TimeView[];
}

export function timeSection(report: Report, charts: Charts): TimeSection | null {
  const timelines = report.timelines.filter((timeline) => timeline.load.t_s.length > 0);
  if (timelines.length === 0) return null;
  const drawn = timelines.map((timeline) => targetOverTime(report, timeline, charts));
  return {
    element: section("time", "Over time", ...drawn.map(({ element }) => element)),
    views: drawn.map(({ view }) => view),
  };
}

function targetOverTime(
  report: Report,
  timeline: Timeline,
  charts: Charts,
): { element: HTMLElement; view: TimeView } {
  const stages = report.stages
    .filter((stage) => stage.target === timeline.target)
    .sort((a, b) => a.start_s - b.start_s);
  const view = new TimeView(`time-${timeline.target}`, stages, spanOf(stages, timeline));
  releaseGroup(view);
  const panels = panelsOf(report, timeline);
  const right = panels.some((panel) => panel.curves.some((curve) => curve.side === "right"));
  const strips = panels.map((panel, index) => {
    const place = { first: index === 0, last: index === panels.length - 1, right };
    const { spec, key } = drawPanel(panel, view, place);
    const chart = charts.place(
      `${panel.title} over time, ${panel.unit}. Figures stand in the table below.`,
      spec,
    );
    resetOnDoubleClick(chart, view);
    return el(
      "div",
      { class: "strip" },
      el(
        "div",
        { class: "chart-head" },
        el("h3", {}, panel.title),
        el("span", { class: "axis-unit" }, panel.unit),
        key.element,
      ),
      chart,
    );
  });
  const missing = missingOf(timeline);
  const element = el(
    "figure",
    { class: "over-time" },
    report.targets.length > 1 && el("h3", { class: "target" }, timeline.target),
    toolbar(report, timeline, view),
    ...strips,
    el(
      "figcaption",
      {},
      "Numbers above the bands are clients. Hatched: warm-up, left out of every figure. Tinted: hold. ",
      "Drag to look closer, double-click to return; arrow keys move along a chart.",
      missing.length > 0 && ` Not measured, so unknown: ${missing.join(", ")}.`,
      curveFigures(report, timeline, panels),
    ),
  );
  return { element, view };
}

/** From the first stage to the end of the last; where there is none, what the intervals cover. */
function spanOf(stages: StageResult[], timeline: Timeline): [number, number] {
  const { t_s } = timeline.load;
  const first = stages[0]?.start_s ?? t_s[0] ?? 0;
  const last = Math.max(...stages.map((stage) => stage.start_s + stage.seconds), t_s.at(-1) ?? first + 1);
  return [first, Math.max(last, first + 1)];
}

/** What is shown: all stages, one series, or the preparation too; and what the cursor points at. */
function toolbar(report: Report, timeline: Timeline, view: TimeView): HTMLElement {
  const spans: [string, [number, number]][] = [["all stages", view.whole]];
  const series = report.series.filter((one) => one.target === timeline.target);
  for (const one of series.length > 1 ? series : []) {
    const stages = stagesOf(report, one);
    if (stages.length > 0)
      spans.push([
        seriesTitle(report, one),
        spanOf(stages, { ...timeline, load: { ...timeline.load, t_s: [] } }),
      ]);
  }
  const times = timeline.metrics.flatMap((metric) => [metric.t_s[0] ?? 0, metric.t_s.at(-1) ?? 0]);
  const outer: [number, number] = [Math.min(0, ...times), Math.max(report.run.seconds, ...times)];
  if (view.whole[0] - outer[0] + (outer[1] - view.whole[1]) > OUTSIDE_MIN_S) spans.push(["whole run", outer]);

  const buttons = spans.map(([label, span]) => {
    const button = el("button", { type: "button" }, label);
    button.addEventListener("click", () => view.show(span));
    return { button, span };
  });
  const readout = el("output", { class: "readout" });
  view.onSpan = (shown) => {
    for (const { button, span } of buttons) {
      button.setAttribute("aria-pressed", String(span[0] === shown[0] && span[1] === shown[1]));
    }
  };
  view.onCursor = (time) => {
    readout.textContent = time === null ? "" : whereabouts(view, time);
  };
  view.onSpan(view.span);
  return el(
    "div",
    { class: "toolbar" },
    el(
      "div",
      { class: "spans", role: "group", "aria-label": "Span of time shown" },
      buttons.map(({ button }) => button),
    ),
    readout,
  );
}

function whereabouts(view: TimeView, time: number): string {
  const stage = view.stageAt(time);
  const at = clock(time);
  if (stage === undefined) return at;
  return `${at} · ${stage.series} · ${stage.kind} · ${clientsText(stage)} · ${arrivalText(stage)}`;
}

/** The curves in figures, for those who cannot see them or want to quote them. */
function curveFigures(report: Report, timeline: Timeline, panels: Panel[]): Child {
  const spanning = (stage: StageResult): [number, number] => [stage.start_s, stage.start_s + stage.seconds];
  const series = report.series.filter((one) => one.target === timeline.target);
  const holds = series.flatMap((one) => {
    const stages = stagesOf(report, one).filter((stage) => stage.kind === "hold" || stage.kind === "ramp");
    return stages.length === 0
      ? []
      : [{ label: `mean, ${seriesTitle(report, one)} hold`, spans: stages.map(spanning) }];
  });
  const measured = report.stages
    .filter((stage) => stage.target === timeline.target && stage.kind !== "warm-up")
    .map(spanning);
  const rows = panels.flatMap((panel) =>
    panel.curves.map((curve) => {
      const write = (value: number | undefined): Child =>
        value === undefined ? el("span", { class: "unknown" }, "–") : curve.format(value);
      const all = summarise(panel.t, curve.values, measured);
      // The mean of percentiles of intervals would be no percentile: the table of stages has the merged ones.
      const means = holds.map(({ spans }) =>
        panel.axis === "log" ? undefined : summarise(panel.t, curve.values, spans)?.mean,
      );
      return {
        cells: [`${panel.title}: ${curve.label}`, ...means.map(write), write(all?.min), write(all?.max)],
      };
    }),
  );
  return el(
    "details",
    {},
    el("summary", {}, "These curves in figures"),
    table(
      "Figures of the curves over time, warm-ups left out",
      [
        { label: "Curve" },
        ...holds.map(({ label }) => ({ label, figures: true })),
        { label: "lowest interval", figures: true },
        { label: "highest interval", figures: true },
      ],
      rows,
    ),
  );
}
