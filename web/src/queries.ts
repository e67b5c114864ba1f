// Times of queries of several targets beside each other: which queries there are, how much the passes scatter, and how
// many times as fast one target is as another. Pure.

import type { Passes, QueryTimes } from "./document";
import { count, counted } from "./format";

/** 97.5 % quantiles of Student's t for 1 to 4 degrees of freedom, where the expansion below is not exact enough. */
const T_FEW = [12.706, 4.303, 3.182, 2.776];
const Z = 1.959964;

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

/** `22 of 22 answers valid`, `22 of 22 answers as on the other targets`, `22 of 22 answers kept`; null where none is known. */
export function answersText({ queries, answers }: Passes): string | null {
  const of = (many: number) => `${count(many)} of ${counted(queries.length, "answer")}`;
  if (answers.kept === 0) return null;
  if (answers.known > 0) return `${of(answers.valid)} valid`;
  if (answers.alike > 0 || answers.differ > 0) return `${of(answers.alike)} as on the other targets`;
  return `${of(answers.kept)} kept, compared with none known to be right`;
}

export interface SpeedUp {
  /** Time of the base by time of the other, by name of the query. */
  ratios: Map<string, number>;
  /** Geometric mean of the ratios; null where there is none. */
  mean: number | null;
  /** Of the mean, 95 %, over the queries; null where there are fewer than two. */
  interval: [number, number] | null;
  /** Queries that do not count: they did not run on both, or their answer is not to be relied on. */
  without: string[];
}

/** How many times as fast `other` is as `base`. */
export function speedUp(base: Passes, other: Passes): SpeedUp {
  const ratios = new Map<string, number>();
  const without: string[] = [];
  for (const name of queryNames([base, other])) {
    const both = [timesOf(base, name), timesOf(other, name)];
    const [first, second] = both.map((one) => one?.median_s ?? 0);
    const sound = both.every((one) => one?.differs == null);
    if (sound && first !== undefined && second !== undefined && first > 0 && second > 0)
      ratios.set(name, first / second);
    else without.push(name);
  }
  const logarithms = [...ratios.values()].map(Math.log);
  const many = logarithms.length;
  if (many === 0) return { ratios, mean: null, interval: null, without };
  const mean = logarithms.reduce((sum, one) => sum + one, 0) / many;
  if (many === 1) return { ratios, mean: Math.exp(mean), interval: null, without };
  const variance = logarithms.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (many - 1);
  const half = studentT(many - 1) * Math.sqrt(variance / many);
  return { ratios, mean: Math.exp(mean), interval: [Math.exp(mean - half), Math.exp(mean + half)], without };
}

/** The 97.5 % quantile of Student's t, to three digits: the expansion by powers of 1 / freedom. */
export function studentT(freedom: number): number {
  const few = T_FEW[freedom - 1];
  if (few !== undefined) return few;
  const first = (Z ** 3 + Z) / 4;
  const second = (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96;
  const third = (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384;
  return Z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}
