import { expect, test } from "vitest";
import type { Verdict } from "../src/document";
import type { RunEntry } from "../src/served/api";
import { notComparableText, ratioText } from "../src/served/comparison";
import { firstFew, headline, liveFirst, matches, stateOf } from "../src/served/list";
import { figureText, isShown } from "../src/served/terms";

const series = (rest: Partial<RunEntry["series"][number]> = {}): RunEntry["series"][number] => ({
  target: "pg",
  series: "read",
  workload: "tpcb/select-only",
  kind: "hold",
  clients: 8,
  clients_end: null,
  rate_per_s: null,
  rate_end_per_s: null,
  tps: 85_300,
  ...rest,
});
const run = (name: string, rest: Partial<RunEntry> = {}): RunEntry => ({
  name,
  started_at: "2026-11-20T08:00:00+01:00",
  outcome: "complete",
  reason: null,
  seconds: 60,
  command: ["dyno", "run"],
  targets: [{ name: "pg", product: "PostgreSQL", version: "18.1", embedded_profile: null }],
  series: [series()],
  findings: { invalid: [], doubt: [] },
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
  expect(matches(mysql, { ...all, product: "MySQL", state: "killed" })).toBe(true);
  expect(matches(mysql, { ...all, product: "PostgreSQL" })).toBe(false);
  expect(matches(run("a"), { ...all, text: "SELECT-only dyno" })).toBe(true);
  expect(matches(run("a"), { ...all, text: "select-only mysql" })).toBe(false);
  expect(matches(run("a"), { ...all, workload: "tpcb/select-only", target: "pg" })).toBe(true);
  expect(matches(run("a"), { ...all, target: "my" })).toBe(false);
});

test("a run that was killed or damaged is neither complete nor live", () => {
  expect(
    [
      run("a"),
      run("b", { outcome: null }),
      run("c", { outcome: null, live: true }),
      run("d", { outcome: "incomplete" }),
      run("e", { outcome: null, damaged: true }),
    ].map(stateOf),
  ).toEqual(["complete", "killed", "live", "incomplete", "damaged"]);
});

test("of many lines the first few are shown, and how many more there are", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `series ${index + 1}`);
  expect(firstFew(lines)).toEqual([...lines.slice(0, 5), "and 15 more"]);
  expect(firstFew(lines.slice(0, 6))).toEqual(lines.slice(0, 6));
});

test("a headline names what was asked of the server", () => {
  const of = (rest: Partial<RunEntry["series"][number]>) => headline(run("a"), series(rest));
  expect(of({})).toBe("read 85.3k TPS at 8 clients");
  expect(of({ clients: 1, clients_end: 200 })).toBe("read 85.3k TPS at 1 to 200 clients");
  expect(of({ rate_per_s: 5_000, clients: 64 })).toBe("read 85.3k TPS at 5,000/s");
  expect(of({ rate_per_s: 100, rate_end_per_s: 5_000 })).toBe("read 85.3k TPS at 100 to 5,000/s");
  const passes = { total_s: 1.118, queries: 22, ran: 22 };
  expect(of({ passes })).toContain(" 1.12 s a pass");
  expect(of({ passes: { ...passes, total_s: null, ran: 21 } })).toContain(" 21 of 22 queries");
});

test("a ratio says no more than its interval allows, in the words of its figure", () => {
  const verdicts: [string, string] = ["faster", "slower"];
  const throughput = { verdicts, better: "higher" } as const;
  const p99 = { verdicts, better: "lower" } as const;
  const ratio = (
    row: typeof throughput | typeof p99,
    value: number,
    within: [number, number] | null,
    verdict: Verdict,
  ) => ratioText(row, { ratio: { value, interval: within, verdict } });
  expect(ratio(throughput, 1.834, [1.79, 1.88], "better")).toBe("1.83× (1.79 to 1.88) faster");
  expect(ratio(p99, 0.518, [0.512, 0.524], "better")).toBe("0.518× (0.512 to 0.524) faster");
  expect(ratio(throughput, 1.01, [0.97, 1.05], "no-difference-shown")).toBe(
    "no difference shown (0.970 to 1.050)",
  );
  expect(ratio(throughput, 2.5, null, "no-interval")).toBe("2.50× no interval");
  expect(ratio(p99, 2.5, [2, 3], "other-load")).toBe("2.50× (2.00 to 3.00) at another load");
  expect(ratioText(throughput, { ratio: null })).toBe("");
  const clients = { verdicts, better: "neither" } as const;
  expect(ratioText(clients, { ratio: { value: 2, interval: null, verdict: "no-interval" } })).toBe("");
});

test("figures of a comparison have units", () => {
  const text = (key: string, unit: string, value: number, interval: [number, number] | null = null) =>
    `${key}: ${figureText({ key, unit }, { value, interval })}`;
  expect([
    text("throughput", "1/s", 84_912, [84_063, 85_761]),
    text("p99.9", "us", 1_100),
    text("errors", "share", 0.004),
    text("server_cpu", "us", 21),
    text("disk_write_bytes", "bytes", 0.004),
    text("disk_write_operations", "operations", 0.35),
    text("wal_bytes", "bytes", 41.5),
    text("peak_rate", "1/s", 5_000),
    text("saturation_clients", "clients", 1),
    text("bytes_per_row", "bytes", 96),
    text("size", "bytes", 797e6),
    text("prepare", "s", 4.1),
    text("of_tomorrow", "lines", 3),
  ]).toEqual([
    "throughput: 84,912 TPS ±1.0%",
    "p99.9: 1.1 ms",
    "errors: 0.4%",
    "server_cpu: 21 µs",
    "disk_write_bytes: <0.01 B",
    "disk_write_operations: 0.35 operations",
    "wal_bytes: 41.5 B",
    "peak_rate: 5,000/s",
    "saturation_clients: 1 client",
    "bytes_per_row: 96.0 B",
    "size: 760 MiB",
    "prepare: 4.1 s",
    "of_tomorrow: 3.00 lines",
  ]);
  const cells = [{ value: 0.001, interval: null, repeats: 1, ratio: null }];
  expect([isShown({ unit: "bytes", cells }), isShown({ unit: "share", cells })]).toEqual([false, true]);
});

test("what makes one series not comparable is not said of all", () => {
  const of = (...grave: (string | null)[]) =>
    notComparableText({
      series: [{ name: "read" }, { name: "write" }],
      differences: grave.map((series) => ({ aspect: "durability", severity: "invalid" as const, series })),
    });
  expect(of()).toBeNull();
  expect(of("write")?.what).toBe("1 of 2 series not comparable (write)");
  expect(of("read", "write")?.what).toBe("Not comparable");
  expect(of("write", null)).toEqual({ what: "Not comparable", aspects: "durability" });
});
