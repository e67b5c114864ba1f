import { describe, expect, test, vi } from "vitest";
import {
  bytes,
  bytesPerSecond,
  clock,
  cores,
  count,
  counted,
  duration,
  latency,
  latencyTick,
  long,
  moment,
  plain,
  relativeError,
  seconds,
  sentence,
  setting,
  share,
  short,
  tick,
  times,
} from "../src/format";

describe("quantities", () => {
  test.each([
    [0, "0"],
    [0.5, "0.50"],
    [4.211, "4.21"],
    [9.996, "10.0"],
    [42.46, "42.5"],
    [999.4, "999"],
    [999.6, "1.00k"],
    [85_349, "85.3k"],
    [999_600, "1.00M"],
    [-85_349, "-85.3k"],
  ])("short %d is %s", (value, text) => expect(short(value)).toBe(text));

  test.each([
    [84_911.7, "84,912"],
    [-1234, "-1,234"],
    [1_000_000, "1,000,000"],
    [42.46, "42.5"],
    [4.2, "4.20"],
  ])("long %d is %s", (value, text) => expect(long(value)).toBe(text));

  test.each([
    [0, "0"],
    [0.000_345, "0.000345"],
    [0.175_18, "0.175"],
    [1.118, "1.12"],
    [12.34, "12.3"],
    [1_234.4, "1,234"],
  ])("seconds %d are %s", (value, text) => expect(seconds(value)).toBe(text));

  test.each([
    [0.0224, "0.022×"],
    [0.5, "0.50×"],
    [4.48, "4.5×"],
    [26.2, "26×"],
    [1_234, "1,234×"],
  ])("a ratio of %d is %s", (value, text) => expect(times(value)).toBe(text));

  test.each([
    [0, "0 µs"],
    [8.44, "8.4 µs"],
    [90.2, "90 µs"],
    [999.6, "1.0 ms"],
    [12_300, "12 ms"],
    [2_500_000, "2.5 s"],
    [99_600_000, "1 min 40 s"],
  ])("latency %d is %s", (us, text) => expect(latency(us)).toBe(text));

  test.each([
    [4, "4 s"],
    [4.12, "4.1 s"],
    [9.97, "10 s"],
    [59.7, "1 min"],
    [161, "2 min 41 s"],
    [11_100, "3 h 5 min"],
  ])("duration %d is %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  test.each([
    [512, "512 B"],
    [760 * 1024 ** 2, "760 MiB"],
    [23.5 * 1024 ** 3, "23.5 GiB"],
  ])("bytes %d is %s", (value, text) => expect(bytes(value)).toBe(text));

  test("others", () => {
    expect(count(126_304)).toBe("126,304");
    expect(counted(1, "client")).toBe("1 client");
    expect(counted(1024, "client")).toBe("1,024 clients");
    expect(share(0.342)).toBe("34%");
    expect(share(0.004)).toBe("0.4%");
    expect(cores(2)).toBe("2");
    expect(plain(0.1)).toBe("0.1");
    expect(plain(5000)).toBe("5,000");
    expect(bytesPerSecond(4_210_000)).toBe("4 MiB/s");
    expect(bytesPerSecond(210)).toBe("210 B/s");
    expect([0, 2500, 80_000, 1_200_000].map(tick)).toEqual(["0", "2.5k", "80k", "1.2M"]);
    expect([50, 2000, 5e6].map(latencyTick)).toEqual(["50 µs", "2 ms", "5 s"]);
    expect([5, 59.5, 60, 150, 3665].map(clock)).toEqual(["5 s", "59.5 s", "1:00", "2:30", "1:01:05"]);
  });
});

test("what is unknown is never a number", () => {
  for (const unknown of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const format of [
      count,
      short,
      long,
      latency,
      duration,
      bytes,
      bytesPerSecond,
      share,
      cores,
      plain,
    ]) {
      expect(format(unknown)).toBe("unknown");
    }
  }
});

test("throughput says how sure it is", () => {
  const estimate = (mean: number, half_width: number | null) => ({
    mean,
    half_width,
    samples: 30,
    effective_samples: null,
  });
  expect(relativeError(estimate(84_912, 509))).toBe("±0.6%");
  expect(relativeError(estimate(100, 25))).toBe("±25%");
  expect(relativeError(estimate(100, 50))).toBe("±50%");
  expect(relativeError(estimate(100, 51))).toBe("not known to within a factor of two");
  expect(relativeError(estimate(100, 0.0001))).toBe("±<0.1%");
  expect(relativeError(estimate(100, null))).toBe("± unknown");
  expect(relativeError(estimate(0, 1))).toBe("± unknown");
});

test.each([
  ["16384", "8kB", "128MB"],
  ["786432", "8kB", "6GB"],
  ["300", "s", "5min"],
  ["200", "ms", "200ms"],
  ["10000", "ms", "10s"],
  ["1.5", "ms", "1500us"],
  ["-1", "kB", "-1"],
  ["0", "s", "0"],
  ["on", null, "on"],
  ["", null, "(empty)"],
  ["3", "furlongs", "3 furlongs"],
])("setting %s in %s reads %s", (value, unit, text) => expect(setting(value, unit)).toBe(text));

test.each([
  ["Europe/Berlin", "20 Nov 2026, 08:49 CET"],
  ["America/New_York", "20 Nov 2026, 02:49 GMT-5"],
  ["UTC", "20 Nov 2026, 07:49 UTC"],
])("moments stand in the reader's time, in %s as %s", (zone, text) => {
  vi.stubEnv("TZ", zone);
  expect(moment("2026-11-20T08:49:41.123+01:00")).toBe(text);
  expect(moment("2026-11-20T07:49:41Z")).toBe(text);
  expect(moment("yesterday")).toBe("yesterday");
  vi.unstubAllEnvs();
});

test("a text that others end with a full stop has one", () => {
  expect(["no room is left.", "no room is left", "where is it?", "1.5 s"].map(sentence)).toEqual([
    "No room is left.",
    "No room is left.",
    "Where is it?",
    "1.5 s.",
  ]);
});
