// Two streams at the same time: each has one look in legend, cards and charts, and the one that accompanies the other's ladder
// stands at its steps. And what the captions of the charts promise is there.

import type { Page } from "playwright-core";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { WrittenReport } from "../../src/document";
import { duelReport } from "../duel";
import { syntheticReport } from "../fixture";
import { streamsReport } from "../streams";
import { Browser, findBrowser, pageWith } from "./built";
import { LOOKS, picture, pixelsOf, sidewaysScroll } from "./looks";

const executable = findBrowser();

describe.skipIf(executable === undefined)("the page of two streams", () => {
  const browser = new Browser(executable ?? "");
  afterEach(() => browser.leave());
  afterAll(() => browser.close());
  const open = async (report: WrittenReport, look: keyof typeof LOOKS = "light") => {
    const opened = await browser.open({ html: pageWith(report) }, LOOKS[look]);
    await opened.page.waitForSelector("canvas");
    return opened;
  };

  test.each(["light", "dark", "phone"] as const)("has one look for each stream: %s", async (look) => {
    const { page, complaints } = await open(streamsReport(), look);
    await picture(page, `streams-${look}`);
    const colours = (selector: string) =>
      page
        .locator(selector)
        .evaluateAll((all) =>
          all.map((one) => [one.textContent?.trim(), getComputedStyle(one).color] as const),
        );
    const legend = new Map(await colours(".lane b"));
    expect([...legend.keys()]).toEqual(["oltp", "reports"]);
    const cards = await colours("#answer .whose");
    expect(cards.map(([name]) => name)).toEqual(["reports", "oltp"]);
    for (const [name, colour] of cards) expect(colour, name).toBe(legend.get(name));
    const figure = (name: string) => `#clients figure:has(h3:text-is("${name}: throughput"))`;
    await name(page, figure("reports"), "reports-figure");
    await name(page, figure("oltp"), "oltp-figure");
    for (const [id, own, other] of [
      ["#reports-figure", "series-2", "series-1"],
      ["#oltp-figure", "series-1", "series-2"],
    ] as const) {
      expect(await pixelsOf(page, id, own), id).toBeGreaterThan(60);
      expect(await pixelsOf(page, id, other), id).toBe(0);
    }
    expect(await page.locator('#time [data-chart="throughput"] .key').innerText()).toMatch(/oltp\s+reports/);
    expect(await sidewaysScroll(page)).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("has the steps of the ladder under the stream that accompanied it", async () => {
    const { page } = await open(streamsReport());
    const texts = await page.locator("#clients figcaption").allInnerTexts();
    expect(texts[0]).toContain("From 4.00 TPS beside 1 client of oltp to 2.50 TPS beside 8 clients of oltp.");
    const card = await page.locator("#answer article").first().innerText();
    expect(card).toContain("Its load stayed the same beside the ladder of oltp.");
    expect(card).not.toContain("No ladder was run");
    const plot = page.locator("#clients .plot").first();
    await plot.focus();
    const said: string[] = [];
    for (let step = 0; step < 4; step += 1) {
      await page.keyboard.press("ArrowRight");
      said.push(await page.locator("#clients .key").first().innerText());
    }
    expect(said.map((text) => text.split(":")[0])).toEqual([
      "1 client of oltp",
      "2 clients of oltp",
      "4 clients of oltp",
      "8 clients of oltp",
    ]);
    expect(said[2]).toContain("held 3.00 TPS ±5.0%");
  });

  test("says what is shaded only where it is, and draws the interval of a hold", async () => {
    const shades = async (change: (report: WrittenReport) => void, half_width: number | null) => {
      const report = streamsReport();
      change(report);
      for (const stage of report.stages) {
        if (stage.kind === "hold" && stage.throughput !== null)
          Object.assign(stage.throughput, { half_width });
      }
      const { page } = await open(report);
      const figure = page.locator("#clients figure", { hasText: "oltp: throughput" });
      await name(page, '#clients figure:has(h3:text-is("oltp: throughput"))', "oltp-figure");
      const text = await figure.locator("figcaption").innerText();
      return { text, pixels: await pixelsOf(page, "#oltp-figure", "series-1"), bands: await shaded(page) };
    };
    const oltp = (report: WrittenReport) => report.series.find(({ name }) => name === "oltp");
    const known = await shades(() => {}, 400);
    expect(known.text).toContain("Shaded: with 4 clients");
    expect(known.text).toContain("The diamond is the hold, with its 95% interval.");
    expect(known.bands).toBeGreaterThan(1000);
    // A saturation is marked in place of the peak, and what cannot be told from that is shaded all the same.
    const saturated = await shades((report) => {
      const saturation = duelReport({ steps: 60 }).series[0]?.saturation ?? null;
      Object.assign(oltp(report) ?? {}, { saturation: saturation && { ...saturation, clients: 8 } });
    }, 400);
    expect(saturated.text).toContain("Shaded: ");
    expect(saturated.bands).toBeGreaterThan(1000);
    const alone = await shades((report) => {
      const peak = oltp(report)?.peak;
      Object.assign(peak ?? {}, { clients_indistinguishable: [8], indistinguishable_from: null });
    }, null);
    expect(alone.text).not.toContain("Shaded");
    expect(alone.text).toContain("The diamond is the hold.");
    expect(alone.bands).toBe(0);
    // The bar of the interval is longer than the diamond.
    expect(known.pixels).toBeGreaterThan(alone.pixels + 40);
  });

  test("shows one span as chosen", async () => {
    for (const report of [streamsReport(), streamsReport(["pg", "my"]), syntheticReport()]) {
      // Nothing came before the first stages, and they began in the same millisecond.
      report.hooks = [];
      for (const stage of report.stages) stage.start_s = Math.floor(stage.start_s * 10) / 10;
      const { page } = await open(report);
      const pressed = page.locator('[aria-label="Span that is shown"] [aria-pressed="true"]');
      expect(await pressed.allInnerTexts()).toEqual(["all stages"]);
      await page.getByRole("button", { name: "whole run", exact: true }).click();
      await expect.poll(() => pressed.allInnerTexts()).toEqual(["whole run"]);
    }
  });

  test("marks rows that a server estimates", async () => {
    const report = duelReport({ steps: 3, stepSeconds: 6 });
    for (const size of report.sizes) size.rows_counted = size.target === "pg";
    report.found = syntheticReport().found;
    const { page } = await open(report);
    const costs = await page.innerText("#costs");
    expect(costs).toMatch(/rows of all tables\s+4,200,000\s+≈ 4,200,000/);
    expect(costs).toMatch(/bytes per row\s+96\.0\s+≈ 141/);
    expect(costs).toMatch(/tables and indexes\s+385 MiB\s+565 MiB/);
    expect(await page.innerText("#data")).toMatch(/pgbench_accounts\s+≈ 5,000,000/);
    const [first] = report.found[0]?.tables ?? [];
    if (first === undefined) throw new Error("the fixture has no table");
    first.rows = null;
    const unknown = await open(report);
    expect(await unknown.page.innerText("#data")).toMatch(/pgbench_accounts\s+unknown/);
  });
});

/** Gives an element an id, so that its canvas can be read. */
async function name(page: Page, selector: string, id: string): Promise<void> {
  await page.locator(selector).evaluate((element, id) => element.setAttribute("id", id), id);
}

/** Pixels of the figure's canvas in the colour of a band on its ground. */
function shaded(page: Page): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#oltp-figure canvas");
    const probe = document.createElement("span");
    probe.style.color = "var(--band-hold)";
    document.body.append(probe);
    const wanted = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
    probe.remove();
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas?.width ?? 1, canvas?.height ?? 1];
    const context = copy.getContext("2d", { willReadFrequently: true });
    if (canvas !== null) context?.drawImage(canvas, 0, 0);
    const pixels = context?.getImageData(0, 0, copy.width, copy.height).data ?? [];
    let found = 0;
    // A band is nearly transparent, so its colour is known only roughly.
    for (let at = 0; at < pixels.length; at += 4) {
      const opacity = pixels[at + 3] ?? 0;
      const near = wanted.every((part, index) => Math.abs(part - (pixels[at + index] ?? 0)) < 24);
      if (near && opacity > 10 && opacity < 80) found += 1;
    }
    return found;
  });
}
