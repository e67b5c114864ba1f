// How queries were run: what two plans have in common. Pure.

import type { PlanNode, QueryPlan } from "./document";

/** Lines of a text that are compared. */
const LINES_MAX = 2000;

/** `Index Scan on lineitem using lineitem_fk1` */
export function stepName({ operation, object, index }: PlanNode): string {
  return `${operation}${object === null ? "" : ` on ${object}`}${index === null ? "" : ` using ${index}`}`;
}

/** The plans of a query on a target: as planned before the passes and after them, and as it was run for its plan. */
export function plansOf(
  plans: QueryPlan[] | undefined,
  of: Pick<QueryPlan, "target" | "series" | "query">,
): Record<"before" | "after" | "run", QueryPlan | undefined> {
  const own = (plans ?? []).filter(
    (plan) => plan.query === of.query && plan.target === of.target && plan.series === of.series,
  );
  const planned = (when: QueryPlan["when"]) => own.find((plan) => plan.when === when && !plan.executed);
  return { before: planned("before"), after: planned("after"), run: own.find((plan) => plan.executed) };
}

/** What is compared of a plan: its steps with their depths, or of a text its words without numbers. */
function linesOf({ nodes, text }: QueryPlan): { depth: number; words: string }[] {
  if (nodes.length > 0) return nodes.map((node) => ({ depth: node.depth, words: stepName(node) }));
  const words = (line: string) =>
    line
      .split(/[^\p{L}\p{N}_]+/u)
      .filter((word) => /^[\p{L}_]/u.test(word))
      .join(" ");
  const lines = text === null ? [] : text.split("\n").slice(0, LINES_MAX);
  return lines.map((line) => ({ depth: 0, words: words(line) }));
}

/** Which lines of two plans the other has not, or has at another place if it has them all; null where they are alike or cannot be
 * compared. */
export function planDifference(one: QueryPlan, other: QueryPlan): [boolean[], boolean[]] | null {
  const areTrees = one.nodes.length > 0 && other.nodes.length > 0;
  const areTexts =
    one.nodes.length === 0 && other.nodes.length === 0 && one.text !== null && other.text !== null;
  // Products describe a query that was executed in other words.
  const areLike = (areTrees || areTexts) && one.executed === other.executed;
  if (!areLike || one.shape === other.shape) return null;
  const [ours, theirs] = [linesOf(one), linesOf(other)];
  const byWords = differing(ours, theirs, (a, b) => a.words === b.words);
  const onlyOneHas = withoutMoved(ours, theirs, byWords);
  // The same steps, which read from each other in another way.
  for (const marks of [onlyOneHas, byWords]) if (marks.flat().some((differs) => differs)) return marks;
  return differing(ours, theirs, (a, b) => a.words === b.words && a.depth === b.depth);
}

/** Takes the marks from lines that the other side has too, at another place. */
function withoutMoved(
  ours: { words: string }[],
  theirs: { words: string }[],
  marks: [boolean[], boolean[]],
): [boolean[], boolean[]] {
  const [ofOurs, ofTheirs] = [[...marks[0]], [...marks[1]]];
  ours.forEach(({ words }, at) => {
    const place = theirs.findIndex((other, place) => ofTheirs[place] === true && other.words === words);
    if (ofOurs[at] !== true || place < 0) return;
    ofOurs[at] = false;
    ofTheirs[place] = false;
  });
  return [ofOurs, ofTheirs];
}

/** What is on neither side of the longest common subsequence. */
function differing<T>(ours: T[], theirs: T[], same: (a: T, b: T) => boolean): [boolean[], boolean[]] {
  const longest = ours.map(() => new Array<number>(theirs.length + 1).fill(0));
  longest.push(new Array<number>(theirs.length + 1).fill(0));
  const at = (row: number, column: number) => longest[row]?.[column] ?? 0;
  for (let row = ours.length - 1; row >= 0; row -= 1)
    for (let column = theirs.length - 1; column >= 0; column -= 1) {
      const isSame = same(ours[row] as T, theirs[column] as T);
      const value = isSame ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      (longest[row] as number[])[column] = value;
    }
  const marks: [boolean[], boolean[]] = [ours.map(() => true), theirs.map(() => true)];
  let [row, column] = [0, 0];
  while (row < ours.length && column < theirs.length) {
    if (same(ours[row] as T, theirs[column] as T)) {
      marks[0][row] = false;
      marks[1][column] = false;
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return marks;
}
