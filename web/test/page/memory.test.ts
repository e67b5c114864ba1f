// What a million samples take in a browser.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WrittenMetric, WrittenReport } from "../../src/document";
import { syntheticReport } from "../fixture";
import { Browser, findBrowser } from "./built";
import { LOOKS } from "./looks";
import { FixtureServer } from "./server";

const executable = findBrowser();
const SAMPLES = 1_000_000;
const SECONDS = 20_000;
const BYTES_PER_MILLION_MAX = 60e6;

describe.skipIf(executable === undefined)("a million samples", () => {
  const browser = new Browser(executable ?? "");
  const server = new FixtureServer();
  let url = "";
  beforeAll(async () => {
    server.thin = false;
    server.add(syntheticReport());
    server.add(longReport());
    url = await server.start();
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  test("stay under 60 MB", async () => {
    const held = async (run: string): Promise<number> => {
      const { page } = await browser.open({ url: `${url}?run=${run}` }, LOOKS.light);
      await page.waitForSelector('[data-chart="throughput"] canvas');
      const session = await page.context().newCDPSession(page);
      for (let times = 0; times < 3; times += 1) await session.send("HeapProfiler.collectGarbage");
      const usage = (await session.send("Runtime.getHeapUsage")) as {
        usedSize: number;
        embedderHeapUsedSize?: number;
        backingStorageSize?: number;
      };
      return usage.usedSize + (usage.embedderHeapUsedSize ?? 0) + (usage.backingStorageSize ?? 0);
    };
    const little = await held("synthetic-test-data-1");
    const much = await held("long");
    process.stdout.write(
      `\na million samples hold ${((much - little) / 1e6).toFixed(1)} MB more than ${(little / 1e6).toFixed(1)} MB\n`,
    );
    // Eight bytes for each sample are the least that the columns can take: less would mean that nothing was read.
    expect(much - little).toBeGreaterThan(SAMPLES * 7);
    expect(much - little).toBeLessThan((BYTES_PER_MILLION_MAX * SAMPLES) / 1e6);
  });
});

/** Made up: `SAMPLES` values of metrics over `SECONDS`, no point left out. */
function longReport(): WrittenReport {
  const report = syntheticReport();
  const [timeline] = report.timelines;
  if (timeline === undefined) throw new Error("the fixture has no timeline");
  const t_s = Array.from({ length: SECONDS }, (_, row) => row + 0.5);
  const metrics: WrittenMetric[] = Array.from({ length: SAMPLES / SECONDS }, (_, index) => ({
    ...(timeline.metrics[index] ?? { source: "host", key: `synthetic_${index}_per_s`, unit: "1/s" }),
    t_s,
    values: t_s.map((t) => (t % 97 < 1 ? null : Math.abs(Math.sin(t / 700 + index)))),
  }));
  return {
    ...report,
    run: { ...report.run, name: "long", seconds: SECONDS },
    timelines: [{ ...timeline, metrics }],
  };
}
