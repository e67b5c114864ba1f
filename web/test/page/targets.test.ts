// Two targets on one page, as a file: told apart, turned off and on, laid over time and over steps, zoomed into.

import type { Page } from "playwright-core";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { duelReport } from "../duel";
import { Browser, findBrowser, pageWith } from "./built";
import { LOOKS, paintedShares, picture, pixelsOf, sidewaysScroll } from "./looks";

const executable = findBrowser();
/** The whole file for two targets and sixty steps each. */
const BYTES_MAX = 600_000;
const THROUGHPUT = '[data-chart="throughput"]';

describe.skipIf(executable === undefined)("the page of two targets", () => {
  const browser = new Browser(executable ?? "");
  afterEach(() => browser.leave());
  afterAll(() => browser.close());
  const open = async (
    look: keyof typeof LOOKS,
    change: (report: ReturnType<typeof duelReport>) => void = () => {},
  ) => {
    const report = duelReport({ stepSeconds: 6 });
    change(report);
    const opened = await browser.open({ html: pageWith(report) }, LOOKS[look]);
    await opened.page.waitForSelector(`${THROUGHPUT} canvas`);
    return opened;
  };

  test("is small enough for a ramp of sixty steps", () => {
    const page = pageWith(duelReport());
    expect(page).not.toContain('"schema"');
    expect(Buffer.byteLength(page)).toBeLessThan(BYTES_MAX);
  });

  test("names no cause of a saturation where others took what was missing", async () => {
    const { page, complaints } = await open("light", ({ series }) => {
      const saturation = series.find(({ target }) => target === "my")?.saturation;
      if (saturation == null) throw new Error("the fixture has no saturation");
      const evidence = "the server took 0.55 of them, other programs 1.4";
      Object.assign(saturation, { limits: [], taken_by_others: [{ resource: "cpu", share: 1, evidence }] });
    });
    const text = await page.locator(".answer", { hasText: "other programs 1.4" }).innerText();
    expect(text).toContain("Others took what was missing, so the cause is not known:");
    expect(text).not.toContain("Nothing that was read");
    expect(complaints).toEqual([]);
  });

  test.each(["light", "dark", "phone"] as const)("shows both on the same axes: %s", async (look) => {
    const { page, complaints, requests } = await open(look);
    await picture(page, `targets-${look}`);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    for (const share of await paintedShares(page)) expect(share).toBeGreaterThan(0.002);
    for (const colour of ["series-1", "series-2"]) {
      for (const chart of [
        THROUGHPUT,
        '[data-chart="latency"]',
        '[data-chart="server-cpu"]',
        "#clients figure",
      ]) {
        expect(await pixelsOf(page, chart, colour), `${colour} in ${chart}`).toBeGreaterThan(60);
      }
    }
    const text = await page.innerText("body");
    expect(text).toContain("Saturated at 23 clients");
    expect(text).toContain("my: unknown, not told by this server, or not to this user");
    expect(text).toMatch(/server's CPU\s+150 µs\s+270 µs\s+1\.8×/);
    expect(text).toMatch(/bytes per row\s+96\.0\s+141\s+1\.5×/);
    expect(text).not.toMatch(/\bNaN\b|\bnull\b|undefined|Infinity/);
  });

  test("folds the findings of each target to a line, opened by pointer, by key, by a link and in print", async () => {
    const { page, complaints } = await open("light");
    const folds = page.locator("#findings details");
    const opened = () => folds.evaluateAll((all) => all.map((one) => (one as HTMLDetailsElement).open));
    const lines = (await folds.locator("summary").allInnerTexts()).map((line) => line.replace(/\s+/g, " "));
    expect(lines).toEqual(["pg 1 doubt", "my 1 doubt 1 note"]);
    expect(await opened()).toEqual([false, false]);
    await folds.nth(0).locator("summary").click();
    await folds.nth(1).locator("summary").focus();
    await page.keyboard.press("Enter");
    expect(await opened()).toEqual([true, true]);
    await page.keyboard.press("Enter");
    await folds.nth(0).locator("summary").click();
    await page.locator("#answer .mark").first().click();
    expect((await opened()).filter((open) => open)).toHaveLength(1);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await opened()).toEqual([true, true]);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect((await opened()).filter((open) => open)).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  test("shows findings that all say that the figures are invalid", async () => {
    const { page } = await open("light", (report) => {
      for (const finding of report.findings.filter(({ target }) => target === "my"))
        finding.severity = "invalid";
    });
    const my = page.locator("#findings details").nth(1);
    expect(await my.getAttribute("open")).not.toBeNull();
    expect(await my.locator("summary").innerText()).toContain("invalid: ");
  });

  test("names lanes and ratios of long names in full, and scrolls a table by key where it is wider", async () => {
    const names = ["postgres-production-host", "mysqlwithtwentyfournames"];
    const { page, complaints } = await open("phone", (report) => rename(report, names));
    const frame = page.locator("#costs .table").first();
    const lacking = (element: HTMLElement) => element.scrollWidth - element.clientWidth - element.scrollLeft;
    const room = await frame.evaluate(lacking);
    expect(room).toBeGreaterThan(0);
    await frame.focus();
    for (let times = 0; times < 20; times += 1) await page.keyboard.press("ArrowRight");
    await expect.poll(() => frame.evaluate(lacking)).toBeLessThan(2);
    const ratio = frame.locator("thead th").last();
    expect(await ratio.innerText()).toContain(`${names[1]} / ${names[0]}`);
    const inside = await ratio.evaluate((head) => head.getBoundingClientRect().right <= innerWidth);
    expect(inside).toBe(true);
    expect(await sidewaysScroll(page)).toBe(0);
    await picture(page, "targets-long-names");
    expect(complaints).toEqual([]);
  });

  test("says of what costs are, whose disk it is, and what rests on estimates", async () => {
    const { page, complaints } = await open("light", (report) => {
      for (const stage of report.stages) {
        stage.query_set = true;
        if (stage.target === "pg" && stage.costs !== null) stage.costs.disk_source = "server";
      }
      for (const size of report.sizes) size.rows_counted = size.target === "my";
    });
    const row = async (label: string) => {
      const cells = page.locator("#costs tr", { hasText: label }).first().locator("th, td");
      return (await cells.allInnerTexts()).map((text) => text.trim());
    };
    expect(await page.locator("#costs thead th").first().innerText()).toBe("per query");
    const [, ofServer, ofDevice, ratio] = await row("written to disk");
    expect(ofServer).not.toContain("(device)");
    expect(ofDevice).toMatch(/ \(device\)$/);
    expect(ratio).toBe("");
    expect((await row("disk writes"))[2]).not.toContain("(device)");
    const rows = await row("rows of all tables");
    expect(rows[1]).toBe("≈ 4,200,000");
    expect(rows[2]).toBe("4,200,000");
    expect((await row("bytes per row"))[1]).toMatch(/^≈ /);
    expect((await row("tables and indexes"))[1]).not.toContain("≈");
    expect(complaints).toEqual([]);
  });

  test("turns a target off and on, by pointer and by key, and keeps it in the address", async () => {
    const { page, complaints } = await open("light");
    const both = await pixelsOf(page, THROUGHPUT, "series-2");
    const my = page.getByRole("button", { name: /^my/ });
    await my.click();
    await expect.poll(() => my.getAttribute("aria-pressed")).toBe("false");
    expect(both).toBeGreaterThan(200);
    await expect.poll(() => pixelsOf(page, THROUGHPUT, "series-2")).toBe(0);
    expect(await pixelsOf(page, "#clients figure", "series-2")).toBe(0);
    expect(await pixelsOf(page, THROUGHPUT, "series-1")).toBeGreaterThan(200);
    expect(await page.evaluate(() => location.hash)).toBe("#hide=my");
    await my.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => pixelsOf(page, THROUGHPUT, "series-2")).toBe(both);
    await page.goBack();
    await expect.poll(() => my.getAttribute("aria-pressed")).toBe("false");
    expect(complaints).toEqual([]);
  });

  test("lays turns over the steps at first, and over time when asked", async () => {
    const { page, complaints } = await open("light");
    expect(await page.innerText("#time h2")).toBe("Over the steps");
    await expect.poll(() => readoutAt(page, 0.5)).toMatch(/^ingest · 3[01] clients/);
    await page.getByRole("button", { name: "time", exact: true }).click();
    await expect.poll(() => page.innerText("#time h2")).toBe("Over time");
    // Between two turns nobody runs; one of three places near each other is within one.
    const words = async () => {
      const said: string[] = [];
      for (const share of [0.5, 0.504, 0.508]) said.push(await readoutAt(page, share));
      return said.join("\n");
    };
    await expect.poll(words).toMatch(/^\d+:\d\d · (pg|my) · ingest · ladder · 3[01] clients/m);
    // The hook came before the steps: only time has a place for it.
    expect(await page.innerText(".notes")).toContain("my: before ingest");
    expect(await page.evaluate(() => location.hash)).toBe("#axis=time");
    await picture(page, "targets-time");
    expect(complaints).toEqual([]);
  });

  test("zooms by drag, wheel and keys, and comes back", async () => {
    const { page, complaints } = await open("light");
    const plot = page.locator(`${THROUGHPUT} .plot`);
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    if (box === null) throw new Error("the chart is not there");
    const at = (share: number) => box.x + 62 + (box.width - 102) * share;
    const span = () =>
      page.evaluate(() =>
        (new URLSearchParams(location.hash.slice(1)).get("span") ?? "").split("~").map(Number),
      );

    await page.mouse.move(at(0.25), box.y + 80);
    await page.mouse.down();
    await page.mouse.move(at(0.5), box.y + 90, { steps: 4 });
    await page.mouse.up();
    const [from = 0, to = 0] = await span();
    expect(from).toBeCloseTo(15, 0);
    expect(to).toBeCloseTo(30, 0);

    await plot.focus();
    await page.keyboard.press("ArrowRight");
    const [panned = 0] = await span();
    expect(panned).toBeCloseTo(from + (to - from) * 0.2, 1);
    await page.keyboard.press("+");
    const [near = 0, far = 0] = await span();
    expect(far - near).toBeCloseTo((to - from) / 2, 1);
    await page.mouse.wheel(0, 240);
    await expect
      .poll(async () => ((await span())[1] ?? 0) - ((await span())[0] ?? 0))
      .toBeGreaterThan(far - near);
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => location.hash)).toBe("");
    expect(complaints).toEqual([]);
  });

  test("tells the figures of a chart to those who cannot see it", async () => {
    const { page, complaints } = await open("light");
    const strip = page.locator(THROUGHPUT);
    expect(await strip.locator(".plot").getAttribute("aria-label")).toBe("Throughput, TPS: pg, my");
    await strip.getByRole("button", { name: "figures" }).click();
    const rows = await strip.locator("tbody tr").allInnerTexts();
    expect(rows).toHaveLength(60);
    expect(rows[0]).toMatch(/^1\s+8\d\d\s+4\d\d$/);
    await strip.locator(".plot").focus();
    for (let step = 0; step < 10; step += 1) await page.keyboard.press("Shift+ArrowRight");
    await expect
      .poll(() => page.locator(".aloud").innerText())
      .toMatch(/^6 clients.*Throughput: pg [\d,]+, my [\d,]+/);
    expect(complaints).toEqual([]);
  });

  test("turns charts on and off", async () => {
    const { page, complaints } = await open("light");
    await page.locator(".chooser summary").click();
    await page.getByRole("checkbox", { name: "WAL or redo log" }).uncheck();
    await expect.poll(() => page.locator('[data-chart="wal"]').count()).toBe(0);
    expect(await page.evaluate(() => location.hash)).toBe("#without=wal");
    expect(await page.locator(".chooser").getAttribute("open")).not.toBeNull();
    await page.goBack();
    await expect.poll(() => page.locator('[data-chart="wal"]').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("names a target that was lost, with when and why", async () => {
    const { page, complaints } = await open("light", (report) => {
      report.lost = [{ at_s: 125, target: "my", stage: 12, reason: "the server closed the connection" }];
    });
    expect(await page.innerText(".masthead")).toContain(
      "my was lost after 2:05: the server closed the connection",
    );
    await page.getByRole("button", { name: "time", exact: true }).click();
    expect(await page.innerText(".notes .grave")).toMatch(/^my: lost \(2:05\)/);
    await picture(page, "targets-lost");
    expect(complaints).toEqual([]);
  });
});

function rename(report: ReturnType<typeof duelReport>, names: string[]): void {
  const known = report.targets.map(({ name }) => name);
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return names[known.indexOf(value)] ?? value;
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
  };
  Object.assign(report, walk(report));
}

/** What the readout says with the pointer at a share of the chart's width. */
async function readoutAt(page: Page, share: number): Promise<string> {
  const plot = page.locator(`${THROUGHPUT} .plot`);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await plot.hover({ position: { x: 62 + ((box?.width ?? 0) - 102) * share, y: 60 } });
  return page.locator(".readout").innerText();
}
