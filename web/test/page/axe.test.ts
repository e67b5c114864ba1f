// The page by axe-core, which knows what keeps people from reading it who do not see it or do not use a mouse: everything
// dyno shows, in light and dark, without a violation.

import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { COMPARISON } from "../comparison";
import { duelReport } from "../duel";
import { syntheticReport } from "../fixture";
import { passesReport } from "../passes";
import { Browser, findBrowser, pageWith } from "./built";
import { LOOKS, sidewaysScroll } from "./looks";
import { FixtureServer } from "./server";

const executable = findBrowser();
const WIDTHS = [320, 360, 600, 768, 900, 1024, 1280, 1600];

/** What is wrong, each with where it is. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import("axe-core") };
    // Of WCAG 2.2, and not yet among the rules that run by themselves.
    const found = await axe.run(document, { rules: { "target-size": { enabled: true } } });
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, any }) => `${id}: ${target.join(" ")} ${any[0]?.message ?? ""}`),
    );
  });
}

describe.skipIf(executable === undefined)("axe-core", () => {
  const browser = new Browser(executable ?? "");
  const server = new FixtureServer();
  let url = "";
  beforeAll(async () => {
    server.comparison = COMPARISON;
    server.add(syntheticReport());
    server.add(duelReport({ name: "duel-1", steps: 12, stepSeconds: 6 }));
    server.add(duelReport({ name: "duel-2", steps: 16, stepSeconds: 6, together: true }));
    server.add(duelReport({ name: "going", steps: 20, stepSeconds: 6 }), true);
    url = await server.start();
  });
  afterEach(() => browser.leave());
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  const shown: Record<string, () => { source: { html: string } | { url: string }; until: string }> = {
    "a report": () => ({ source: { html: pageWith(syntheticReport()) }, until: "canvas" }),
    "a report of two targets": () => ({
      source: { html: pageWith(duelReport({ name: "duel", steps: 12, stepSeconds: 6 })) },
      until: "canvas",
    }),
    "a report of a query set": () => ({
      source: { html: pageWith(passesReport()) },
      until: "#queries table",
    }),
    "a live run": () => ({ source: { url: `${url}?run=going` }, until: ".live-figures" }),
    "the list of runs": () => ({ source: { url }, until: ".runs tbody tr" }),
    "a comparison": () => ({ source: { url: `${url}?run=duel-1&run=duel-2` }, until: "#comparison table" }),
  };
  test.each(
    Object.keys(shown).flatMap((what) => (["light", "dark"] as const).map((look) => [what, look] as const)),
  )("has nothing against %s: %s", async (what, look) => {
    const { source, until } = shown[what]?.() ?? { source: { url }, until: "body" };
    const { page } = await browser.open(source, LOOKS[look]);
    await page.waitForSelector(until);
    expect(await violations(page)).toEqual([]);
  });

  test("the list of runs fits its column at every width", async () => {
    const { page } = await browser.open({ url }, LOOKS.light);
    await page.waitForSelector(".runs tbody tr");
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const wider = await page.evaluate(() => {
        const table = document.querySelector(".runs");
        return table === null ? Number.NaN : table.scrollWidth - table.clientWidth;
      });
      expect([width, wider, await sidewaysScroll(page)]).toEqual([width, 0, 0]);
    }
  });
});
