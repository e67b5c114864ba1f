import { expect, test } from "vitest";
import { planDifference, plansOf, stepName } from "../src/plans";
import { planNode, queryPlan } from "./passes";

/** A plan of steps with their depths. */
const plan = (shape: string, ...steps: [number, string, string | null][]) =>
  queryPlan("Q1", {
    shape,
    nodes: steps.map(([depth, operation, object]) => planNode(depth, operation, object)),
  });

test("the plans of a query are found by its name and target", () => {
  const planned = { executed: false };
  const [before, after, run] = [
    queryPlan("Q1", { when: "before", ...planned }),
    queryPlan("Q1", planned),
    queryPlan("Q1"),
  ];
  const plans = [queryPlan("Q1", { target: "my" }), before, queryPlan("Q2"), run, after];
  const of = { target: "pg", series: "queries", query: "Q1" };
  expect(plansOf(plans, of)).toEqual({ before, after, run });
  expect(plansOf(plans, { ...of, query: "Q3" })).toEqual({
    before: undefined,
    after: undefined,
    run: undefined,
  });
  expect(plansOf(undefined, of).run).toBeUndefined();
});

test("steps that only one plan has are marked", () => {
  const one = plan("a", [0, "Sort", null], [1, "Join", null], [2, "Scan", "a"], [2, "Scan", "b"]);
  const other = plan("b", [0, "Join", null], [1, "Index", "a"], [1, "Scan", "b"]);
  expect(planDifference(one, other)).toEqual([
    [true, false, true, false],
    [false, true, false],
  ]);
  const moved = plan("c", [0, "Sort", null], [1, "Join", null], [2, "Scan", "a"], [1, "Scan", "b"]);
  expect(planDifference(one, moved)).toEqual([
    [false, false, false, true],
    [false, false, false, true],
  ]);
  expect(planDifference(one, { ...one })).toBeNull();
  // The join has another order, and one table is read in another way.
  const left = plan("d", [0, "Join", null], [1, "Scan", "a"], [1, "Scan", "b"], [1, "Scan", "c"]);
  const right = plan("e", [0, "Join", null], [1, "Index", "c"], [1, "Scan", "b"], [1, "Scan", "a"]);
  expect(planDifference(left, right)).toEqual([
    [false, false, false, true],
    [false, true, false, false],
  ]);
});

test("texts are compared by their words, and only those of one form", () => {
  const text = (shape: string, words: string, executed = false) =>
    queryPlan("Q1", { shape, nodes: [], text: words, executed });
  const one = text("a", "Read (orders)\nFilter (id > 7)");
  expect(planDifference(one, text("b", "Read (lineitem)\nFilter (id > 9)"))).toEqual([
    [true, false],
    [true, false],
  ]);
  expect(planDifference(one, text("b", "Read (lineitem)", true))).toBeNull();
  expect(planDifference(one, plan("b", [0, "Sort", null]))).toBeNull();
});

test("steps are named", () => {
  const node = planNode(0, "Index Scan", "lineitem", { index: "k" });
  expect(stepName(node)).toBe("Index Scan on lineitem using k");
});
