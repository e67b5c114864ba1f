// How each query was run on each target: the steps of its plan with their figures, beside those of the others. What one plan
// has and the other has not is marked by a sign.

import { signOf } from "../charts/marks";
import type { PlanNode, QueryPlan, Series } from "../document";
import { type Child, el, icon } from "../dom";
import { count, counted, latency, short } from "../format";
import { planDifference, plansOf, stepName } from "../plans";
import type { Lane } from "../scene";

interface Side {
  lane: Lane;
  series: Series;
}

/** A plan as it is shown. */
interface Shown {
  lane: Lane;
  /** Of a plan that changed: `before the passes`. */
  when: string;
  plan: QueryPlan;
  marks: boolean[] | null;
}

export function plansPart(names: string[], sides: Side[], base: Side): Child {
  const queries = names.flatMap((query) => {
    const all = shownOf(query, sides, base);
    return all.length === 0 ? [] : [queryPlans(query, all)];
  });
  if (queries.length === 0) return null;
  return el(
    "div",
    { class: "plans" },
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, "Plans"),
      el("span", { class: "axis-unit" }, "taken apart from the passes, so their times are not in any figure"),
    ),
    queries,
  );
}

/** The plans of a query: of each target how it was run, and where the plan changed while the passes went on, both. */
function shownOf(query: string, sides: Side[], base: Side): Shown[] {
  const all = sides.map(({ lane, series }) => {
    const { before, after, run } = plansOf(lane.report.plans, {
      target: series.target,
      series: series.name,
      query,
    });
    return { lane, before, after, plan: run ?? after ?? before };
  });
  const ofBase = all[sides.indexOf(base)];
  const comparable = all.filter(
    (one) => one !== ofBase && one.lane.target.product === ofBase?.lane.target.product,
  );
  return all.flatMap((one): Shown[] => {
    const { lane, before, after, plan } = one;
    if (plan === undefined) return [];
    const other = one === ofBase ? comparable[0] : comparable.includes(one) ? ofBase : undefined;
    const marks = other?.plan === undefined ? null : planDifference(other.plan, plan);
    const shown = { lane, when: "", plan, marks: marks?.[1] ?? null };
    const changed = before !== undefined && after !== undefined ? planDifference(before, after) : null;
    if (changed === null || before === undefined || after === undefined) return [shown];
    return [
      shown,
      { lane, when: "before the passes", plan: before, marks: changed[0] },
      { lane, when: "after the passes", plan: after, marks: changed[1] },
    ];
  });
}

function queryPlans(query: string, all: Shown[]): HTMLElement {
  const differs = all.some(({ marks }) => marks?.some((mark) => mark) ?? false);
  const off = all.reduce(
    (sum, { plan }) => sum + plan.nodes.filter((node) => node.rows_off !== undefined).length,
    0,
  );
  const targets = all.filter(({ when }) => when === "");
  const words = targets.map(({ lane, plan }) => {
    const time = totalOf(plan);
    const what = time === null ? (plan.reason === null ? "planned" : "not run") : latency(time * 1e3);
    return el("span", { class: "entry" }, signOf(lane), lane.label, " ", el("b", {}, what));
  });
  return el(
    "details",
    { class: "plan" },
    el(
      "summary",
      {},
      el("b", { class: "plan-name" }, query),
      el("span", { class: "key" }, words),
      differs && el("span", { class: "differs" }, "≠ plans differ"),
      off > 0 &&
        el("span", { class: "off" }, icon("doubt"), `${counted(off, "step")} far from the planned rows`),
    ),
    el("div", { class: "plan-sides" }, all.map(side)),
    el(
      "details",
      { class: "sql" },
      el("summary", {}, "Text of the query"),
      el("pre", {}, all[0]?.plan.sql ?? ""),
    ),
  );
}

function totalOf({ nodes }: QueryPlan): number | null {
  return nodes[0]?.time_ms ?? null;
}

function side({ lane, when, plan, marks }: Shown): HTMLElement {
  const how = plan.executed ? "run for its plan" : "as planned, not run for it";
  const total = totalOf(plan);
  const body =
    plan.nodes.length > 0
      ? el(
          "ol",
          { class: "steps" },
          plan.nodes.map((node, at) => step(node, total, marks?.[at] ?? false)),
        )
      : plan.text !== null && textPlan(plan.text, marks);
  return el(
    "div",
    { class: "plan-side" },
    el(
      "p",
      { class: "plan-head" },
      signOf(lane),
      " ",
      el("b", {}, lane.label),
      ` ${when === "" ? how : `${when}, ${how}`}`,
    ),
    plan.reason !== null && el("p", { class: "severity doubt" }, icon("doubt"), plan.reason),
    body,
  );
}

function step(node: PlanNode, total: number | null, differs: boolean): HTMLElement {
  const {
    time_ms,
    own_ms,
    rows,
    rows_planned,
    loops,
    pages_hit,
    pages_read,
    details,
    rows_off: factor,
  } = node;
  const all = (each: number) => {
    const rows = Math.round(each * (loops === null || loops === 0 ? 1 : loops));
    return rows < 1000 ? count(rows) : short(rows);
  };
  const figures: Child[] = [
    time_ms !== null && figure("time", latency(time_ms * 1e3)),
    own_ms !== null && figure("own", latency(own_ms * 1e3)),
    loops === 0 && figure("", "never executed"),
    rows !== null && loops !== 0 && figure("rows", all(rows)),
    rows_planned !== null && figure("planned", all(rows_planned)),
    loops !== null && loops > 1 && figure("executions", short(loops)),
    pages_hit !== null && figure("pages cached", count(pages_hit)),
    pages_read !== null && pages_read > 0 && figure("pages read", count(pages_read)),
  ];
  const item = el(
    "li",
    { class: differs ? "differs" : undefined },
    el(
      "div",
      { class: "step" },
      differs && el("span", { class: "sign", title: "only in this plan, or at another place" }, "≠ "),
      el("b", {}, stepName(node)),
    ),
    el("div", { class: "step-figures" }, figures),
    factor !== undefined &&
      el(
        "div",
        { class: "severity doubt" },
        icon("doubt"),
        factor >= 1
          ? `${short(factor)} times as many rows as planned`
          : `${short(1 / factor)} times fewer rows than planned`,
      ),
    (details ?? []).map((detail) => el("div", { class: "step-detail" }, detail)),
  );
  item.style.setProperty("--depth", String(node.depth));
  if (own_ms !== null && total !== null && total > 0) {
    const share = el("i", { class: "own-share", title: `own time: ${latency(own_ms * 1e3)}` });
    share.style.width = `${Math.min(100, (own_ms / total) * 100)}%`;
    item.prepend(share);
  }
  return item;
}

function figure(name: string, value: string): Child {
  return el("span", {}, name !== "" && el("i", {}, `${name} `), value);
}

function textPlan(text: string, marks: boolean[] | null): HTMLElement {
  const lines = text.split("\n").map((line, at) => {
    const differs = marks?.[at] ?? false;
    return el("span", { class: differs ? "differs" : undefined }, `${differs ? "≠ " : "  "}${line}\n`);
  });
  return el("pre", { class: "plan-text", tabindex: 0, role: "region", "aria-label": "Plan" }, lines);
}
