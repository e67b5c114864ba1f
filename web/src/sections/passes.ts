// The card of a series of passes over a query set: what stands for it, and how far its answers may be believed.

import type { Passes, Report, Series } from "../document";
import { type Child, el, orUnknown } from "../dom";
import { count, countedQueries, relativeError, seconds, sentence, short } from "../format";
import { answersText, notRun } from "../queries";
import { isLive } from "../reading";

/** Queries that did not run, and are named. */
const NAMED_MAX = 6;

export function passesParts(report: Report, series: Series): Child[] {
  const { passes } = series;
  if (passes === undefined) {
    const none = isLive(report) ? "No pass has ended so far." : "No pass has ended.";
    return [
      el("p", { class: "headline" }, el("span", { class: "figure" }, orUnknown(null))),
      el("p", { class: "detail" }, none),
    ];
  }
  return [headline(passes, isLive(report)), figures(passes), each(passes), answers(passes)];
}

export function caveat(text: string | undefined): Child {
  return text !== undefined && el("p", { class: "caveat" }, sentence(text));
}

/** The total; where there is none, how many queries ran, since sums over different queries cannot be compared. */
function headline(passes: Passes, live: boolean): Child {
  const many = passes.queries.length;
  const without = notRun(passes);
  const over = `a pass over ${countedQueries(many)}`;
  if (passes.total_s !== null) {
    return el(
      "p",
      { class: "headline" },
      el("span", { class: "figure" }, seconds(passes.total_s)),
      el("span", { class: "unit" }, "s"),
      errorOf(passes.total_s, passes.total_half_width_s),
      el("span", { class: "how" }, `${over}, ${passes.stages.length > 1 ? "median" : "one pass"}`),
    );
  }
  const ran = `${count(many - without.length)} of ${count(many)}`;
  const figure = (unit: string) =>
    el("p", { class: "headline" }, el("span", { class: "figure" }, ran), el("span", { class: "unit" }, unit));
  // While a pass goes on, queries that have not run say nothing.
  if (live) return figure("queries so far");
  const named = without.slice(0, NAMED_MAX).join(", ");
  const more = without.length > NAMED_MAX ? ` and ${count(without.length - NAMED_MAX)} more` : "";
  const why =
    without.length > 0
      ? `Not all queries ran: ${named}${more} did not, so there is no total.`
      : "There is no total: in half of the passes or more a query did not end well.";
  return [figure("queries ran"), el("p", { class: "detail" }, el("strong", { class: "warned" }, why))];
}

/** Of the interval over passes, where there are enough of them. */
function errorOf(mean: number, half_width: number | null): Child {
  const title = "half-width of the 95% interval over the passes";
  return half_width !== null && el("span", { class: "error", title }, relativeError({ mean, half_width }));
}

function figures(passes: Passes): Child {
  const { geometric_mean_s, geometric_mean_half_width_s, qph, qph_half_width, stages } = passes;
  const ofQph: [string, string, Child] = [
    "QPH",
    "3,600 / total × clients × scale / processors of the server's host",
    [short(qph ?? 0), " ", errorOf(qph ?? 0, qph_half_width)],
  ];
  const pairs: [string, string, Child][] = [
    [
      "geometric mean",
      "of the medians of all queries",
      geometric_mean_s === null
        ? orUnknown(null)
        : [`${seconds(geometric_mean_s)} s `, errorOf(geometric_mean_s, geometric_mean_half_width_s)],
    ],
    ...(qph === null ? [] : [ofQph]),
    ["passes", "measured; the warm-up is none of them", count(stages.length)],
  ];
  return el(
    "dl",
    { class: "percentiles" },
    pairs.map(([name, title, value]) => el("div", { title }, el("dt", {}, name), el("dd", {}, value))),
  );
}

function each(passes: Passes): Child {
  const all = passes.seconds.filter((one) => one !== null).map(seconds);
  if (all.length < 2) return null;
  return el("p", { class: "detail" }, `Passes: ${all.slice(0, -1).join(", ")} and ${all.at(-1)} s.`);
}

function answers(passes: Passes): Child {
  const differing = passes.answers.differ;
  const known = answersText(passes);
  return el(
    "p",
    { class: "detail" },
    known ?? "Answers unknown",
    differing > 0 && [" · ", el("strong", { class: "warned" }, `${count(differing)} to be doubted`)],
    ".",
  );
}
