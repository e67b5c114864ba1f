// Times of queries of several targets beside each other: which queries there are, and how much the passes scatter. Pure.

import type { Passes, QueryTimes } from "./document";
import { count, counted } from "./format";

/** Names of all queries, in the order of the first that has them. */
export function queryNames(all: Passes[]): string[] {
  return [...new Set(all.flatMap(({ queries }) => queries.map(({ query }) => query)))];
}

export function timesOf(passes: Passes, query: string): QueryTimes | undefined {
  return passes.queries.find((one) => one.query === query);
}

/** The smallest and the largest of the passes; null where it ended well in none. */
export function spreadOf({ times_s }: QueryTimes): [number, number] | null {
  const known = times_s.filter((time) => time !== null);
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)];
}

/** Names of the queries that have no time. */
export function notRun({ queries }: Passes): string[] {
  return queries.filter(({ median_s }) => median_s === null).map(({ query }) => query);
}

/** `over the limit` or `not run`, for a query without a time. */
export function withoutTime(query: QueryTimes | undefined): string {
  return query?.over_limit ? "over the limit" : "not run";
}

/**
 * `22 of 22 answers valid`, `22 of 22 answers as on the other targets`, `22 of 22 answers kept`; null where none is known. `… (5 in part)`:
 * of so many the text leaves something open, and they agree in the rest.
 */
export function answersText({ queries, answers }: Passes): string | null {
  const of = (many: number) => `${count(many)} of ${counted(queries.length, "answer")}`;
  if (answers.kept === 0) return null;
  const varied = queries.filter(
    ({ varies, differs, compared, validated }) =>
      (compared || validated !== null) && varies !== null && differs === null,
  ).length;
  const inPart = varied === 0 ? "" : ` (${count(varied)} in part)`;
  if (answers.known > 0) return `${of(answers.valid)} valid${inPart}`;
  if (answers.alike > 0 || answers.differ > 0) return `${of(answers.alike)} as on the other targets${inPart}`;
  return `${of(answers.kept)} kept, compared with none known to be right`;
}
