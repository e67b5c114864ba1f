// What the tests of the page look at: sizes of windows, pixels, and pictures for those who want to see them.

import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { WrittenReport } from "../../src/document";
import type { Look } from "./built";

export const LOOKS: Record<"light" | "dark" | "phone", Look> = {
  light: { colorScheme: "light", width: 1280, height: 900 },
  dark: { colorScheme: "dark", width: 1280, height: 900 },
  phone: { colorScheme: "light", width: 360, height: 740 },
};

export async function expectFindings(page: Page, report: WrittenReport): Promise<void> {
  const closed = page.locator("#findings details:not([open]) > summary");
  while ((await closed.count()) > 0) await closed.first().click();
  const items = page.locator("#findings li");
  expect(await items.count()).toBe(report.findings.length);
  const shown = (await items.allInnerTexts()).join("\n");
  for (const { code, severity, evidence } of report.findings) {
    for (const words of [code, severity, evidence]) expect(shown).toContain(words);
  }
}

/** What is asked for behind the path of the page's address. */
export function searchOf(page: Page): Promise<string> {
  return page.evaluate(() => location.search);
}

/** CSS pixels by which the page is wider than its window. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Words of a usual length that stand on two lines; only long ones, such as names and paths, may be broken. */
export function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate((longest) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const broken: string[] = [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      if (!text.parentElement?.checkVisibility() || text.parentElement.closest("pre, code") !== null)
        continue;
      for (const { 0: word, index } of (text.textContent ?? "").matchAll(/[\p{L}\p{N}]+/gu)) {
        if (word.length > longest) continue;
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
        if (new Set(tops).size > 1) broken.push(word);
      }
    }
    return broken;
  }, 14);
}

/** Buttons that reach out of what they stand in, or whose text reaches out of them. */
export function cutButtons(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("button")]
      .filter((button) => button.checkVisibility())
      .filter((button) => {
        const own = button.getBoundingClientRect();
        const around = button.parentElement?.getBoundingClientRect() ?? own;
        const isInside = own.left >= around.left - 0.5 && own.right <= around.right + 0.5;
        return !isInside || button.scrollWidth > button.clientWidth;
      })
      .map((button) => button.textContent ?? ""),
  );
}

/** The font of the page's texts is on this machine: they are not as wide as in any other. */
export function hasItsFont(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
    const width = (font: string) => {
      context.font = `100px ${font}`;
      return context.measureText("Million transactions in 1,234 s").width;
    };
    const own = getComputedStyle(document.documentElement).getPropertyValue("--sans");
    return width(`${own}, monospace`) !== width("monospace");
  });
}

/** For each canvas, the share of its pixels that anything was drawn on. */
export function paintedShares(page: Page): Promise<number[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("canvas")].map((canvas) => {
      const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      let painted = 0;
      // Every fourth byte is opacity; bands and grid are faint, lines and areas are not.
      for (let index = 3; index < pixels.length; index += 4) if ((pixels[index] ?? 0) > 60) painted += 1;
      return painted / (pixels.length / 4);
    }),
  );
}

/** Mean of the page's background colour, 0 to 255. */
export function brightness(page: Page): Promise<number> {
  return page.evaluate(() => {
    const parts = getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? [];
    return parts.slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
  });
}

export async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env.DYNO_SCREENSHOTS;
  if (directory === undefined) return;
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}

/** Pixels of a chart's canvas that have about this colour of the style sheet, such as `series-1`. */
export function pixelsOf(page: Page, chart: string, colour: string): Promise<number> {
  return page.evaluate(
    ([selector, name]) => {
      const canvas = document.querySelector<HTMLCanvasElement>(`${selector} canvas`);
      const probe = document.createElement("span");
      probe.style.color = `var(--${name})`;
      document.body.append(probe);
      const wanted = (getComputedStyle(probe).color.match(/\d+/g) ?? []).slice(0, 3).map(Number);
      probe.remove();
      // Read from a copy: a canvas that is read often is no longer drawn by the means that are tested.
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas?.width ?? 1, canvas?.height ?? 1];
      const context = copy.getContext("2d", { willReadFrequently: true });
      if (canvas !== null) context?.drawImage(canvas, 0, 0);
      const pixels = context?.getImageData(0, 0, copy.width, copy.height).data ?? [];
      let found = 0;
      for (let at = 0; at < pixels.length; at += 4) {
        const near = wanted.every((part, index) => Math.abs(part - (pixels[at + index] ?? 0)) < 12);
        if (near && (pixels[at + 3] ?? 0) > 200) found += 1;
      }
      return found;
    },
    [chart, colour] as const,
  );
}
