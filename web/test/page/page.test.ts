// The built page in a real browser, opened from disk. `DYNO_PAGE=file.html` opens pages that dyno wrote too (several
// with `:` between);
// `DYNO_SCREENSHOTS=directory` leaves pictures there.

import { readFileSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { WrittenReport } from "../../src/document";
import { duelReport } from "../duel";
import { emptyReport, HOSTILE, hostileReport, syntheticReport } from "../fixture";
import { passesReport } from "../passes";
import { streamsReport } from "../streams";
import { Browser, findBrowser, type Look, pageWith } from "./built";
import {
  brightness,
  brokenWords,
  cutButtons,
  expectFindings,
  hasItsFont,
  LOOKS,
  paintedShares,
  picture,
  sidewaysScroll,
} from "./looks";

/** The whole file for a run of three minutes with two series. */
const BYTES_MAX = 400_000;

const executable = findBrowser();
if (executable === undefined) {
  // On a line of its own whatever the runner has written before.
  process.stdout.write(
    "\nskipped: page tests: no Chromium found (apt-get install chromium or chromium-headless-shell, or set DYNO_CHROMIUM)\n",
  );
}

describe.skipIf(executable === undefined)("the page", () => {
  const browser = new Browser(executable ?? "");
  afterEach(() => browser.leave());
  afterAll(() => browser.close());

  test("is small enough", () => {
    expect(Buffer.byteLength(pageWith(syntheticReport()))).toBeLessThan(BYTES_MAX);
  });

  test.each(Object.entries(LOOKS))("shows the whole report: %s", async (name, look) => {
    const report = syntheticReport();
    const { page, complaints, requests } = await browser.open({ html: pageWith(report) }, look);
    await page.waitForSelector("canvas");
    await picture(page, name);

    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    // Two pairs against clients, the strip of stages, and nine charts over time.
    expect(await page.locator("canvas").count()).toBe(4 + 1 + 9);
    for (const share of await paintedShares(page)) expect(share).toBeGreaterThan(0.01);

    await expectFindings(page, report);
    const text = await page.innerText("body");
    for (const figure of ["85,300", "4,230", "±0.6%", "p99.9", "PostgreSQL 18.1", "complete"]) {
      expect(text).toContain(figure);
    }
    const dark = look.colorScheme === "dark";
    expect(await brightness(page)).toSatisfy((value: number) => (dark ? value < 80 : value > 200));
  });

  test.each([
    ["of one target", syntheticReport()],
    ["of two targets", duelReport({ steps: 5 })],
    ["of passes", passesReport()],
  ])("decides nothing by the words of findings and notices: %s", async (_, report) => {
    const wordless = structuredClone(report);
    const texts = report.notices.map(({ text }) => text);
    for (const notice of wordless.notices) notice.text = "x";
    for (const finding of wordless.findings) {
      texts.push(finding.evidence, finding.advice);
      finding.evidence = "x";
      if (finding.advice !== "") finding.advice = "x";
    }
    const [told, found] = await Promise.all(
      [report, wordless].map(async (one) => {
        const { page } = await browser.open({ html: pageWith(one) }, LOOKS.light as Look);
        await page.waitForSelector("canvas");
        const closed = page.locator("#findings details:not([open]) > summary");
        while ((await closed.count()) > 0) await closed.first().click();
        return page.innerText("body");
      }),
    );
    const words = texts.filter((text) => text !== "").sort((a, b) => b.length - a.length);
    expect(words.length).toBeGreaterThan(0);
    expect(found).toBe(words.reduce((text, said) => text.replaceAll(said, "x"), told ?? ""));
  });

  test("keeps hostile text as text", async () => {
    const { page, complaints } = await browser.open({ html: pageWith(hostileReport()) }, LOOKS.phone as Look);
    await page.waitForSelector("canvas");
    await picture(page, "hostile");
    expect(complaints).toEqual([]);
    expect(await page.title()).toBe(`${HOSTILE} · dyno`);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("script").count()).toBe(2);
    expect(await sidewaysScroll(page)).toBe(0);
    expect(await page.innerText("h1")).toContain(HOSTILE.slice(0, 60));
  });

  test("says how a ramp's rate rose, that one rung is no search, and which intervals there are", async () => {
    const report = syntheticReport();
    const series = report.series.at(-1);
    const hold = report.stages.findLast((stage) => series?.holds.includes(stage.id));
    if (series === undefined || hold === undefined) throw new Error("the fixture has no hold");
    Object.assign(hold, {
      kind: "ramp",
      arrival: "open",
      distribution: "poisson",
      rate_per_s: 100,
      rate_end_per_s: 2000,
      response: hold.service,
    });
    series.ladder = series.ladder.slice(-1);
    for (const stage of report.stages) {
      if (series.ladder.includes(stage.id)) Object.assign(stage.throughput ?? {}, { half_width: null });
    }
    const { page, complaints } = await browser.open({ html: pageWith(report) }, LOOKS.light as Look);
    await page.waitForSelector("canvas");
    expect(complaints).toEqual([]);
    const text = await page.innerText("body");
    expect(text).toContain("while the rate rose from 100/s to 2,000/s");
    expect(text).toContain("Before it, ");
    expect(text).toContain("too short for 95% intervals");
  });

  test("shows what a drain brought, and time lost to broken connections", async () => {
    const report = syntheticReport();
    const totals = report.stages[report.stages.length - 1]?.totals;
    if (totals === undefined) throw new Error("the fixture has no stage");
    Object.assign(totals, { failed_with_drain: 17, unknown_with_drain: 3, reconnects: 2, lost_s: 1.4 });
    const { page, complaints } = await browser.open({ html: pageWith(report) }, LOOKS.light as Look);
    const rows = await page.locator("#stages tr", { hasText: "2 reconnects" }).allInnerTexts();
    expect(complaints).toEqual([]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatch(/\b17\b/);
    expect(rows[0]).toContain("3 of unknown outcome · 2 reconnects · 1.4 s of clients' time lost");
  });

  test("shows what statements did, where the workload tells", async () => {
    const report = syntheticReport();
    const plain = await browser.open({ html: pageWith(report) }, LOOKS.light as Look);
    expect(await plain.page.innerText("#stages")).not.toContain("Writes/s");
    const counts = { reads: 14_000, writes: 3_900, other: 2_100, writes_in_vain: 100 };
    const rates = { per_s: 20_000, reads_per_s: 14_001, writes_per_s: 3_902, other_per_s: 2_103 };
    const hold = report.stages[report.stages.length - 1];
    if (hold !== undefined) hold.queries = { ...counts, ...rates, in_vain_share: 0.25 };
    const { page, complaints } = await browser.open({ html: pageWith(report) }, LOOKS.light as Look);
    const rows = await page.locator("#stages tr", { hasText: "14,001" }).allInnerTexts();
    expect(complaints).toEqual([]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatch(/14,001\s+3,902\s+2,103\s+25%/);
  });

  test("says what is unknown of a run that was killed at once", async () => {
    const { page, complaints } = await browser.open({ html: pageWith(emptyReport()) }, LOOKS.light as Look);
    const text = await page.innerText("body");
    await picture(page, "empty");
    expect(complaints).toEqual([]);
    expect(text).toContain("INCOMPLETE");
    expect(text).toContain("Nothing was measured.");
    expect(text).toContain("unknown");
    expect(text).not.toMatch(/\bNaN\b|\bnull\b|undefined|Infinity/);
  });

  test("follows the reader: theme, cursor, zoom, keyboard", async () => {
    const { page, complaints } = await browser.open(
      { html: pageWith(syntheticReport()) },
      LOOKS.light as Look,
    );
    await page.waitForSelector("canvas");

    const plot = page.locator('[data-chart="throughput"] .plot');
    await plot.scrollIntoViewIfNeeded();
    await plot.hover({ position: { x: 400, y: 120 } });
    const readout = page.locator(".readout");
    await expect.poll(() => readout.innerText()).toMatch(/ · (read|write) · /);
    // One cursor for all: every chart shows its values at that time.
    await expect
      .poll(() => page.locator(".over-time .strip .key").allInnerTexts())
      .toSatisfy((shown: string[]) => shown.every((key) => /\d/.test(key)));
    await picture(page, "cursor");

    const before = await plot.screenshot();
    const write = page.getByRole("button", { name: "write", exact: true });
    await write.click();
    expect(await write.getAttribute("aria-pressed")).toBe("true");
    await expect.poll(async () => Buffer.compare(before, await plot.screenshot())).not.toBe(0);
    // What is shown stands in the hash, and going back shows what was shown before.
    const hash = () => page.evaluate(() => location.hash);
    await expect.poll(hash).toMatch(/^#span=/);
    await page.goBack();
    await expect.poll(hash).toBe("");
    await expect.poll(() => write.getAttribute("aria-pressed")).toBe("false");
    await page.goForward();
    await expect.poll(() => write.getAttribute("aria-pressed")).toBe("true");
    await page.getByRole("navigation").getByText("Settings").click();
    await expect.poll(hash).toMatch(/^#span=/);

    const clients = page.locator("#clients .plot").first();
    await clients.focus();
    await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => page.locator("#clients .key").first().innerText())
      .toContain("1 client: 13,300 TPS");

    await page.getByRole("button", { name: /Show in dark/ }).click();
    await expect.poll(() => brightness(page)).toBeLessThan(80);
    expect(complaints).toEqual([]);
  });

  test("prints in light colours and returns", async () => {
    const { page, complaints } = await browser.open(
      { html: pageWith(syntheticReport()) },
      LOOKS.dark as Look,
    );
    await page.waitForSelector("canvas");
    expect(await brightness(page)).toBeLessThan(80);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await brightness(page)).toBeGreaterThan(200);
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 700, height: 1000 });
    expect(await sidewaysScroll(page)).toBe(0);
    await picture(page, "print");
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await brightness(page)).toBeLessThan(80);
    expect(complaints).toEqual([]);
    const directory = process.env.DYNO_SCREENSHOTS;
    const pdf = await page.pdf({
      format: "A4",
      ...(directory ? { path: join(directory, "print.pdf") } : {}),
    });
    expect(pdf.length).toBeGreaterThan(20_000);
  });

  const reports = {
    series: syntheticReport,
    passes: passesReport,
    duel: duelReport,
    streams: () => streamsReport(["pg", "my"]),
  };
  const fonts = ["DejaVu Sans", "Liberation Serif"];
  const cases = Object.entries(reports).flatMap(([name, report]) =>
    fonts.map((font) => [name, font, report] as const),
  );
  test.each(cases)("fits with any font: %s in %s", async (_, font, report) => {
    const look = { ...(LOOKS.light as Look), font };
    const { page } = await browser.open({ html: pageWith(report()) }, look);
    await page.waitForSelector("canvas");
    expect(await hasItsFont(page), `the font ${font} is not installed`).toBe(true);
    for (const width of [1280, 560, 420, 360]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await sidewaysScroll(page)).toBe(0);
      expect(await brokenWords(page), `at ${width}`).toEqual([]);
      expect(await cutButtons(page), `at ${width}`).toEqual([]);
    }
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print" });
    for (const width of [700, 500]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await sidewaysScroll(page)).toBe(0);
    }
  });

  const written = (process.env.DYNO_PAGE ?? "").split(delimiter).filter((file) => file !== "");
  test.each(written)("opens what dyno wrote: %s", async (file) => {
    for (const [name, look] of Object.entries(LOOKS)) {
      const { page, complaints, requests } = await browser.open({ file: resolve(file) }, look);
      await page.waitForSelector("canvas");
      await picture(page, `${basename(file, ".html")}-${name}`);
      expect(complaints).toEqual([]);
      expect(requests).toEqual([]);
      expect(await sidewaysScroll(page)).toBe(0);
      for (const share of await paintedShares(page)) expect(share).toBeGreaterThan(0.005);
      expect(await page.innerText("body")).not.toMatch(/\bNaN\b|\bundefined\b|\[object/);
      const text =
        /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(
          readFileSync(file, "utf8"),
        )?.[1] ?? "";
      const json = text.startsWith("{") ? text : inflateSync(Buffer.from(text, "base64")).toString();
      await expectFindings(page, JSON.parse(json) as WrittenReport);
    }
  });
});
