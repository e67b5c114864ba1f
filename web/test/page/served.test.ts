// The page as `dyno serve` gives it: the list of runs, a run while it goes, runs laid over each other, and a long run of
// which only what is shown is asked for.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Saturation, WrittenReport, WrittenTimeline } from "../../src/document";
import { COMPARISON } from "../comparison";
import { duelReport } from "../duel";
import { syntheticReport } from "../fixture";
import { Browser, findBrowser } from "./built";
import { LOOKS, picture, pixelsOf, searchOf, sidewaysScroll } from "./looks";
import { FixtureServer } from "./server";

const executable = findBrowser();
const THROUGHPUT = '[data-chart="throughput"]';

describe.skipIf(executable === undefined)("the served page", () => {
  const browser = new Browser(executable ?? "");
  const server = new FixtureServer();
  let url = "";
  beforeAll(async () => {
    server.add(syntheticReport());
    server.add(
      specified(duelReport({ name: "duel-1", steps: 12, stepSeconds: 6 }), { load: { clients: "1..12" } }),
    );
    const together = duelReport({ name: "duel-2", steps: 16, stepSeconds: 6, together: true });
    server.add(specified(together, { protocol: "simple", load: { clients: "1..16" } }));
    url = await server.start();
  });
  afterEach(() => browser.leave());
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  test("lists runs, narrows the list, and goes to a run and back", async () => {
    const { page, complaints } = await browser.open({ url }, LOOKS.light);
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(3);
    await picture(page, "list");
    const doubted = page.locator(".runs tbody tr", { hasText: "doubt" });
    expect(await doubted.count()).toBeGreaterThan(0);
    expect(await doubted.first().innerText()).toMatch(/doubt [a-z-]+/);
    await page.getByLabel("product").selectOption("MySQL");
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(2);
    await expect.poll(() => searchOf(page)).toBe("?product=MySQL");
    await page.getByLabel("text").fill("duel-2");
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(1);

    await page.getByRole("link", { name: "duel-2" }).click();
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await expect.poll(() => searchOf(page)).toBe("?run=duel-2");
    await page.goBack();
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(1);
    await expect.poll(() => page.getByLabel("text").inputValue()).toBe("duel-2");
    await page.goForward();
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await page.goBack();
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(1);
    await page.reload();
    await expect.poll(() => page.getByLabel("product").inputValue()).toBe("MySQL");
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBe(1);
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  });

  test("lays chosen runs over each other, aligned as the reader likes", async () => {
    server.comparison = COMPARISON;
    const { page, complaints } = await browser.open({ url }, LOOKS.light);
    await page.getByLabel("Choose duel-1").check();
    expect(await page.locator("a.overlay").count()).toBe(0);
    await page.getByLabel("Choose duel-2").check();
    await page.getByRole("link", { name: "Lay 2 runs over each other" }).click();
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await expect.poll(() => searchOf(page)).toBe("?run=duel-1&run=duel-2");
    for (const colour of ["series-1", "series-2", "series-3", "series-4"]) {
      await expect.poll(() => pixelsOf(page, THROUGHPUT, colour), { message: colour }).toBeGreaterThan(60);
    }
    expect(
      await page.getByRole("button", { name: "from each series' start" }).getAttribute("aria-pressed"),
    ).toBe("true");
    await page.getByRole("button", { name: "steps of clients" }).click();
    await expect.poll(async () => new URLSearchParams(await searchOf(page)).get("axis")).toBe("step");
    expect(await page.innerText("h1")).toBe("2 runs that differ in together, clients and protocol");
    expect(await page.title()).toBe(
      "duel-1 and duel-2: 2 runs that differ in together, clients and protocol · dyno",
    );
    const [first, second] = await page.locator(".overlaid li").allInnerTexts();
    const said = [
      /quote: 7,680 TPS .*hold\)\s+quote: nothing \(my: ingest\)/,
      "Others took 64% of the host's processors.",
    ];
    for (const words of said) expect(await page.innerText("body")).toMatch(words);
    expect(first).toMatch(
      /duel-1PostgreSQL.*\s+complete\s+quote: [\s\S]*clients: 1..12 · protocol: not given\s+dyno run/,
    );
    expect(second).toMatch(
      /duel-2PostgreSQL.*\s+complete\s+quote: [\s\S]*clients: 1..16 · protocol: simple\s+dyno run/,
    );
    await expect.poll(() => page.innerText("#comparison")).toContain("1.83× (1.79 to 1.88) faster");
    const compared = await page.innerText("#comparison");
    for (const words of [
      "throughput",
      "7,680 TPS ±1.0%",
      "no difference shown (0.970 to 1.030)",
      "Not comparable: durability",
      "→ set both alike",
    ])
      expect(compared).toContain(words);
    expect(server.asked).toContain(
      "/api/compare?side=duel-1%3Apg&side=duel-1%3Amy&side=duel-2%3Apg&side=duel-2%3Amy",
    );
    await picture(page, "overlay");
    await page.goBack();
    await page.goBack();
    await expect.poll(() => page.getByLabel("Choose duel-2").isChecked()).toBe(true);
    expect(complaints).toEqual([]);
  });

  test("follows a live run without losing zoom, scroll or what is open", async () => {
    const whole = duelReport({ name: "going", steps: 20, stepSeconds: 6 });
    const [before, after] = cutAt(whole, 100);
    for (const series of before.series)
      series.saturation = {
        ...structuredClone(SATURATED),
        limits: [{ resource: "cpu", share: 0.5, evidence: "one of two" }],
      };
    server.add(before, true);
    const { page, complaints } = await browser.open({ url: `${url}?run=going&axis=time` }, LOOKS.light);
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await expect.poll(() => server.listening).toBe(1);
    expect(await page.innerText(".masthead .badge")).toBe("live");
    const order = () =>
      page.locator("main > section").evaluateAll((all) => all.slice(0, 4).map(({ id }) => id));
    expect(await order()).toEqual(["time", "clients", "answer", "findings"]);
    expect(await page.innerText(".live-figures")).toMatch(/^1:40 · .*(pg|my) [\d,]+ TPS$/);
    await picture(page, "live");

    const plot = page.locator(`${THROUGHPUT} .plot`);
    await plot.focus();
    await page.keyboard.press("+");
    await page.locator(THROUGHPUT).getByRole("button", { name: "figures" }).click();
    await page.locator("#run summary").click();
    await page.locator('[data-chart="wal"]').scrollIntoViewIfNeeded();
    const state = () =>
      page.evaluate(() => ({
        span: new URLSearchParams(location.search).get("span"),
        top: Math.round(
          document.querySelector('[data-chart="wal"]')?.getBoundingClientRect().top ?? Number.NaN,
        ),
        open: document.querySelector<HTMLDetailsElement>("#run details")?.open,
        focus: document.activeElement?.textContent?.slice(0, 40),
      }));
    const kept = await state();
    const ended = () => page.evaluate(() => document.querySelector(".imprint")?.textContent ?? "");
    const earlier = await ended();
    const { timelines: append, stages, ...report } = after;
    // A card whose bars have other lengths: the page's policy allows no style in an attribute.
    for (const series of report.series) series.saturation = structuredClone(SATURATED);
    server.send("going", "update", { report: { ...report, live: true }, stages, append });
    await expect.poll(ended).not.toBe(earlier);
    expect(await state()).toEqual(kept);
    const full = await page.evaluate(() =>
      getComputedStyle(document.querySelector(".gauge") ?? document.body).getPropertyValue("--full"),
    );
    expect(full).toBe("90%");

    await page.keyboard.press("Escape");
    server.comparison = COMPARISON;
    server.runs.set("going", { report: whole, live: false });
    server.send("going", "end", { reason: null, report: "/home/me/reports/going.html" });
    const told = "going has finished. Its report is /home/me/reports/going.html.";
    await expect.poll(() => page.innerText(".status")).toContain(told);
    await expect.poll(() => page.innerText(".masthead .badge")).toBe("complete");
    expect(server.asked).toContain("/api/runs/going?points=10000");
    await page.waitForSelector("#comparison");
    expect(await order()).toEqual(["time", "clients", "answer", "comparison"]);
    // That of `dyno run --live` ends with its run, and what it had is all here.
    await server.stop();
    await plot.focus();
    await page.keyboard.press("+");
    await expect.poll(() => searchOf(page)).toContain("span=");
    await expect.poll(() => pixelsOf(page, THROUGHPUT, "series-1")).toBeGreaterThan(60);
    expect(await page.innerText(".status")).toContain(told);
    await picture(page, "ended");
    await server.start();
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  });

  test("leaves who is at the top there, and says what is known so far", async () => {
    const [before, after] = cutAt(duelReport({ name: "top", steps: 20, stepSeconds: 6 }), 100);
    for (const series of after.series) series.saturation = null;
    server.add(before, true);
    const { page } = await browser.open({ url: `${url}?run=top` }, LOOKS.light);
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await expect.poll(() => server.listening).toBe(1);
    const { timelines: append, stages, ...report } = after;
    report.lost = [{ at_s: 99, target: "my", stage: null, reason: "the server has gone away" }];
    server.send("top", "update", { report: { ...report, live: true }, stages, append });
    await expect.poll(() => page.innerText(".masthead")).toContain("my was lost");
    expect(await page.evaluate(() => scrollY)).toBe(0);
    expect(await page.innerText("#answer")).toContain("No saturation so far.");
    server.runs.delete("top");
  });

  test("says since when the connection is lost, and goes on when it is back", async () => {
    const [before] = cutAt(duelReport({ name: "shaky", steps: 20, stepSeconds: 6 }), 60);
    server.add(before, true);
    const { page } = await browser.open({ url: `${url}?run=shaky` }, LOOKS.dark);
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    await expect.poll(() => server.listening).toBe(1);
    await server.stop();
    await expect.poll(() => page.innerText(".status")).toMatch(/Connection lost since .*\d:\d\d/);
    expect(await pixelsOf(page, THROUGHPUT, "series-1")).toBeGreaterThan(60);
    await picture(page, "lost");
    await server.start();
    await expect.poll(() => page.innerText(".status")).toContain("Connected again.");
    await expect.poll(() => server.listening).toBe(1);
    server.runs.delete("shaky");
  });

  test("asks for more points of what is zoomed into", async () => {
    const long = duelReport({ name: "long", steps: 60, stepSeconds: 60 });
    server.add(long);
    const { page } = await browser.open({ url: `${url}?run=long&axis=time` }, LOOKS.light);
    await page.waitForSelector(`${THROUGHPUT} canvas`);
    const asked = () =>
      server.asked.filter((path) => path.startsWith("/api/runs/long?") && path.includes("from="));
    expect(asked()).toEqual([]);
    // All at once, so that the page does not take one for the last on a machine that is slow.
    await page.locator(`${THROUGHPUT} .plot`).evaluate((plot) => {
      for (let times = 0; times < 5; times += 1)
        plot.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true, cancelable: true }));
    });
    await expect.poll(() => asked().length).toBe(1);
    const parameters = new URLSearchParams(asked()[0]?.split("?")[1]);
    const width = Number(parameters.get("to")) - Number(parameters.get("from"));
    expect(width).toBeGreaterThan(long.run.seconds / 32);
    expect(width).toBeLessThan(long.run.seconds / 16);
    // What has come is fine enough: nothing more is asked for.
    await page.waitForTimeout(800);
    expect(asked()).toHaveLength(1);
  });

  test("says that a run is not there", async () => {
    const { page } = await browser.open({ url: `${url}?run=nowhere` }, LOOKS.phone);
    await expect.poll(() => page.getByRole("alert").innerText()).toContain("no run nowhere");
    await page.getByRole("link", { name: "← all runs" }).click();
    await expect.poll(() => page.locator(".runs tbody tr").count()).toBeGreaterThan(2);
    expect(await sidewaysScroll(page)).toBe(0);
    await picture(page, "list-phone");
  });
});

/** A report with what was asked for in its one stream. */
function specified(report: WrittenReport, stream: object): WrittenReport {
  const [phase] = report.run.resolved?.phases ?? [];
  const spec = { version: 1, phases: [{ ...phase, streams: [stream] }] };
  return { ...report, run: { ...report.run, spec, resolved: spec } };
}

/** A run up to a time, as it is written while it goes, and the rest of it. */
function cutAt(report: WrittenReport, at: number): [WrittenReport, WrittenReport] {
  const part = (timeline: WrittenTimeline, later: boolean): WrittenTimeline => {
    const keep = (columns: object, t: (number | null)[]): object =>
      Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [
          name,
          Array.isArray(column)
            ? column.filter((_value, row) => (t[row] ?? 0) > at === later)
            : typeof column === "object" && column !== null
              ? keep(column, t)
              : column,
        ]),
      );
    return {
      target: timeline.target,
      load: keep(timeline.load, timeline.load.t_s ?? []) as WrittenTimeline["load"],
      metrics: timeline.metrics.map(
        (metric) => keep(metric, metric.t_s) as (typeof timeline.metrics)[number],
      ),
    };
  };
  const stages = report.stages.filter(({ start_s }) => start_s < at);
  const going = { ...report.run, seconds: at, outcome: "incomplete" as const };
  return [
    { ...report, run: going, stages, timelines: report.timelines.map((timeline) => part(timeline, false)) },
    {
      ...report,
      run: { ...going, seconds: report.run.seconds },
      timelines: report.timelines.map((timeline) => part(timeline, true)),
    },
  ];
}

const SATURATED: Saturation = {
  stage: 1,
  last_good: null,
  clients: 1,
  rate_per_s: null,
  sign: "throughput-flat",
  throughput_per_s: 500,
  p99_us: 2_000,
  evidence: "made up",
  limits: [{ resource: "disk", share: 0.9, evidence: "busy for that share of the time" }],
};
