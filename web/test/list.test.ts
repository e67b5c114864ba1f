import { expect, test } from "vitest";
import type { RunEntry } from "../src/served/api";
import { ratioText } from "../src/served/comparison";
import { liveFirst, matches, stateOf } from "../src/served/list";

const run = (name: string, rest: Partial<RunEntry> = {}): RunEntry => ({
  name,
  started_at: "2026-11-20T08:00:00+01:00",
  outcome: "complete",
  reason: null,
  seconds: 60,
  command: ["dyno", "run"],
  targets: [{ name: "pg", product: "PostgreSQL", version: "18.1", embedded_profile: null }],
  series: [
    { target: "pg", series: "read", workload: "tpcb/select-only", kind: "hold", clients: 8, tps: 85_300 },
  ],
  live: false,
  ...rest,
});
const all = { text: "", target: "", product: "", workload: "", state: "" };

test("live runs stand first, then the newest", () => {
  const order = liveFirst([
    run("old"),
    run("new", { started_at: "2026-11-20T08:30:00+00:00" }),
    run("never", { started_at: null }),
    run("live", { live: true, outcome: null, started_at: "2026-11-19T08:00:00Z" }),
  ]);
  expect(order.map(({ name }) => name)).toEqual(["live", "new", "old", "never"]);
});

test("filters narrow the list, each by itself and together", () => {
  const mysql = run("b", {
    targets: [{ name: "my", product: "MySQL", version: null, embedded_profile: null }],
    outcome: null,
  });
  expect(matches(mysql, all)).toBe(true);
  expect(matches(mysql, { ...all, product: "MySQL", state: "not ended" })).toBe(true);
  expect(matches(mysql, { ...all, product: "PostgreSQL" })).toBe(false);
  expect(matches(run("a"), { ...all, text: "SELECT-only dyno" })).toBe(true);
  expect(matches(run("a"), { ...all, text: "select-only mysql" })).toBe(false);
  expect(matches(run("a"), { ...all, workload: "tpcb/select-only", target: "pg" })).toBe(true);
  expect(matches(run("a"), { ...all, target: "my" })).toBe(false);
});

test("a run that was killed is neither complete nor live", () => {
  expect(
    [
      run("a"),
      run("b", { outcome: null }),
      run("c", { outcome: null, live: true }),
      run("d", { outcome: "incomplete" }),
    ].map(stateOf),
  ).toEqual(["complete", "not ended", "live", "incomplete"]);
});

test("a ratio says no more than its interval allows", () => {
  const ratio = (value: number, interval: [number, number] | null, verdict: string) =>
    ratioText({ value: 1, ratio: { value, interval, verdict } });
  expect(ratio(1.834, [1.79, 1.88], "better")).toBe("1.83× (1.79 to 1.88) better");
  expect(ratio(1.01, [0.97, 1.05], "no-difference-shown")).toBe("no difference shown");
  expect(ratio(2.5, null, "no-interval")).toBe("2.50× no interval");
  expect(ratioText({ value: null, ratio: null })).toBe("");
});
