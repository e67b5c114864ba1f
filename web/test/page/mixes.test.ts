// A run of a mix, as a file: what its workload counts, and each transaction in marks and in figures.

import { afterAll, afterEach, describe, expect, test } from "vitest";
import { duelReport } from "../duel";
import { syntheticReport } from "../fixture";
import { withMix } from "../mixes";
import { Browser, findBrowser, pageWith } from "./built";
import { brokenWords, LOOKS, picture, sidewaysScroll } from "./looks";

const executable = findBrowser();

describe.skipIf(executable === undefined)("the page of a mix", () => {
  const browser = new Browser(executable ?? "");
  afterEach(() => browser.leave());
  afterAll(() => browser.close());

  test.each(
    Object.entries(LOOKS),
  )("shows transactions, the figure and the limits: %s", async (name, look) => {
    const { page, complaints } = await browser.open({ html: pageWith(withMix(syntheticReport())) }, look);
    await page.waitForSelector("#transactions .bar-value");
    await picture(page, `mix-${name}`);
    expect(complaints).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    expect(await brokenWords(page)).toEqual([]);
    expect(await page.innerText("#answer .counted")).toMatch(
      /^[\d,]+\s+new orders a minute\s+±3\.3%\s+68% of the possible [\d,]+\s+each transaction draws its home warehouse$/,
    );
    expect(await page.locator("#transactions .bar-mark").count()).toBe(5);
    const rows = await page.locator("#transactions tbody tr").allInnerTexts();
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatch(/^new_order\s.*45%\s+21 ms\s+50 ms\s+126 ms\s+p90 1.0 s kept/);
    expect(rows[3]).toContain("p90 1.0 s not kept");
    expect(rows[4]).toContain("p90 20 s kept");
    expect(rows[1]).toMatch(/\b3\s+1,200$/);
    const delivery = rows.find((row) => row.startsWith("delivery"));
    expect(delivery).toContain("120 districts skipped (0.30 a transaction)");
    expect(await page.innerText("#transactions .detail")).toMatch(
      /^TPS counts the 0\.4\d?% that were rolled back by design\.$/,
    );
    const chart = page.locator('[data-chart="transactions"]').filter({ has: page.locator("canvas") });
    expect(await chart.count()).toBe(1);
    for (const name of ["new_order", "payment", "order_status", "delivery", "stock_level"]) {
      expect(await chart.innerText()).toContain(name);
    }
  });

  test("sets the transactions of two targets beside each other, and hides those of a hidden one", async () => {
    const { page } = await browser.open({ html: pageWith(withMix(duelReport({ steps: 5 }))) }, LOOKS.light);
    await page.waitForSelector("#transactions .bar-value");
    await picture(page, "mix-two");
    expect(await page.locator("#transactions tbody tr").count()).toBe(10);
    expect(await page.locator("#transactions .bar-row").count()).toBe(10);
    await page.locator("[data-lane]").first().click();
    expect(await page.locator("#transactions tbody tr").count()).toBe(5);
  });
});
