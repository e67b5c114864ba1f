// A run over a query set, as a file: cards, bars, figures, and what is chosen of them.

import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Variants } from "../../src/document";
import { type PassesPlan, passesReport } from "../passes";
import { Browser, findBrowser, pageWith } from "./built";
import { LOOKS, picture, sidewaysScroll } from "./looks";

const executable = findBrowser();

describe.skipIf(executable === undefined)("the page of a query set", () => {
  const browser = new Browser(executable ?? "");
  afterEach(() => browser.leave());
  afterAll(() => browser.close());
  const open = async (look: keyof typeof LOOKS, plan: Partial<PassesPlan> = {}) => {
    const opened = await browser.open({ html: pageWith(passesReport(plan)) }, LOOKS[look]);
    await opened.page.waitForSelector("#queries .bar-value");
    return opened;
  };

  test.each(["light", "phone"] as const)("shows variants in a table: %s", async (look) => {
    const cell = (value: number | null, ratio: number | null, said: string | null = null) => ({
      value,
      ratio,
      not_done: said,
    });
    const variants: Variants = {
      systems: ["heap", "columnar", "bare"],
      rows: [
        {
          group: "build",
          name: "keys",
          unit: "s",
          cells: [cell(2, null), cell(null, null, "no"), cell(1, 0.5)],
        },
        {
          group: "build",
          name: "indexes",
          unit: "s",
          cells: [cell(null, null), cell(3, null), cell(1, null)],
        },
        {
          group: "size",
          name: "table bytes",
          unit: "bytes",
          cells: [cell(4096, null), cell(1024, 0.25), cell(0, 0)],
        },
        {
          group: "tpcb",
          name: "throughput",
          unit: "per-s",
          cells: [cell(900, null), cell(9, 0.01), cell(950, 1.06)],
        },
      ],
    };
    const not_done = [{ target: "columnar", what: "keys", said: "<b>no</b>" }];
    const html = pageWith({ ...passesReport(), variants, not_done });
    const { page, complaints } = await browser.open({ html }, LOOKS[look]);
    await page.waitForSelector("#variants table");
    await picture(page, `variants-${look}`);
    expect([complaints, await sidewaysScroll(page)]).toEqual([[], 0]);
    const rows = await page.locator("#variants tbody tr").allInnerTexts();
    expect(rows.map((row) => row.split(/\s+/).join(" ").trim())).toEqual([
      "build",
      "keys 2.0 s not done 1.0 s ×0.50",
      "indexes – 3.0 s 1.0 s",
      "size",
      "table bytes 4 KiB 1 KiB ×0.25 0 B ×0",
      "tpcb",
      "throughput 900/s 9.00/s ×0.010 950/s ×1.06",
    ]);
    expect(await page.innerText("#variants .not-done")).toContain("columnar cannot do this: keys. <b>no</b>");
    expect(await page.innerText("h1")).toMatch(/^3 variants on /);
  });

  test.each([
    "light",
    "dark",
    "phone",
  ] as const)("shows times of queries and of the loading: %s", async (look) => {
    const { page, complaints, requests } = await open(look);
    await picture(page, `passes-${look}`);
    expect([complaints, requests, await sidewaysScroll(page)]).toEqual([[], [], 0]);
    const cards = await page.locator(".answer").allInnerTexts();
    expect(cards[0]).toMatch(/±3.1%\s*a pass over 22 queries, median/);
    expect(cards[1]).toContain("Not all queries ran: Q17 did not, so there is no total.");
    const text = await page.innerText("body");
    expect(text).toContain("Derived from TPC-H, not comparable to published TPC-H results.");
    expect(text).toContain("Not loaded by this run, used as found: duck.");
    for (const words of ["TPS and", "No ladder", "p99.9", "NaN", "undefined", "Infinity"])
      expect(await page.innerText("#answer")).not.toContain(words);
    expect(text).not.toMatch(/\bNaN\b|\bnull\b|undefined|Infinity/);
    const groups = page.locator('[data-chart="queries"] .bar-group');
    expect(await groups.count()).toBe(22);
    expect(await groups.nth(16).innerText()).toContain("over the limit");
    // What did not run has no bar, and what did has one as long as its time.
    expect(await groups.nth(16).locator(".bar-length").count()).toBe(2);
    const widths = await groups
      .nth(0)
      .locator(".bar-length")
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
    expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(9 / 4, 1);
    // Throughput and latency of a mix of queries say nothing; what the servers did does.
    expect(await page.locator('[data-chart="throughput"], [data-chart="latency"]').count()).toBe(0);
    expect(await page.locator('[data-chart="server-cpu"] canvas').count()).toBe(1);
  });

  test.each(["light", "dark", "phone"] as const)("opens the plans of a query: %s", async (look) => {
    const { page, complaints } = await open(look);
    const plans = page.locator(".plan");
    expect(await plans.count()).toBe(22);
    const second = plans.nth(1);
    expect(await second.locator("> summary").innerText()).toContain("≠ plans differ");
    expect(await plans.nth(0).locator("> summary").innerText()).not.toContain("≠");
    await second.locator("> summary").click();
    const sides = second.locator(".plan-side");
    expect(await sides.count()).toBe(5);
    const marked = (side: number) => sides.nth(side).locator("li.differs .step").allInnerTexts();
    expect(await marked(0)).toEqual([]);
    expect(await marked(1)).toEqual(["≠ Nested Loop", "≠ Index Scan on lineitem using lineitem_fk1"]);
    expect(await marked(2)).toEqual(["≠ Hash Join", "≠ Seq Scan on lineitem"]);
    expect(await sides.nth(0).innerText()).toContain("5.20k times as many rows as planned");
    expect(await sides.nth(0).innerText()).toContain("never executed");
    await plans.nth(16).locator("> summary").click();
    expect(await plans.nth(16).innerText()).toContain("no such table");
    await picture(page, `plans-${look}`);
    expect([complaints, await sidewaysScroll(page)]).toEqual([[], 0]);
    // What was opened stays open while the page is drawn anew.
    await page.getByRole("button", { name: "logarithmic" }).click();
    expect(await second.getAttribute("open")).not.toBeNull();
  });

  test("takes another axis, base and targets, and keeps them in the address", async () => {
    const { page, complaints } = await open("light");
    expect(await page.innerText(".speed-up figcaption")).toContain("duck is 6.7 times as fast as pg");
    await page.getByRole("button", { name: "logarithmic" }).click();
    await expect.poll(() => page.locator('[data-chart="queries"] .bar-length').count()).toBe(0);
    await page.locator(".speed-up button", { hasText: "duck" }).click();
    const words = page.locator(".speed-up figcaption");
    await expect.poll(() => words.innerText()).toContain("pg is 0.15 times as fast as duck");
    expect(await words.innerText()).toContain("Without Q4, Q17");
    expect(await page.evaluate(() => location.hash)).toBe("#scale=log&base=duck");
    await page.getByRole("button", { name: /^my/ }).first().click();
    await expect.poll(() => page.innerText("#queries")).not.toContain("my");
    await page.goBack();
    await page.goBack();
    await page.goBack();
    await expect.poll(() => page.locator('[data-chart="queries"] .bar-length').count()).toBe(65);
    expect(complaints).toEqual([]);
  });

  test("does not miss queries while a run goes on", async () => {
    const report = { ...passesReport(), live: true };
    const { page, complaints } = await browser.open({ html: pageWith(report) }, LOOKS.light);
    await page.waitForSelector("#queries .bar-value");
    expect(await page.locator(".answer").nth(1).innerText()).toMatch(/21 of 22\s+queries so far/);
    expect(await page.innerText("#queries")).toContain("not yet run");
    expect(complaints).toEqual([]);
  });

  test("copies the figures", async () => {
    const { page, complaints } = await open("light");
    await page.getByRole("button", { name: "copy" }).click();
    const taken = await page.evaluate(() => String(getSelection()));
    expect(taken).toMatch(/Q1\s+0\.0400\s+0\.0384\s+0\.0416/);
    expect(complaints).toEqual([]);
  });

  test.each([
    "light",
    "phone",
  ] as const)("shows one target and one pass of a set of one's own: %s", async (look) => {
    const plan = { first: { pg: 0.5 }, queries: 4, passes: 1, workload: "orders/queries" };
    const { page, complaints } = await open(look, plan);
    await picture(page, `passes-one-${look}`);
    expect(await page.locator(".speed-up, .bar-row .mark-alone, .bar-spread").count()).toBe(0);
    expect(await page.innerText("body")).not.toContain("TPC-H");
    // One pass says nothing of how much passes differ.
    expect(await page.innerText("#answer")).toMatch(/a pass over 4 queries, one pass/);
    expect(await page.innerText("#answer")).not.toContain("±");
    expect(await sidewaysScroll(page)).toBe(0);
    expect(complaints).toEqual([]);
  });
});
