// The colours of curves: seen on their ground, and told apart with any colour vision, in light and in dark.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

type Rgb = [number, number, number];

/** WCAG asks so much of text; thin and dashed lines need as much. */
const CONTRAST_MIN = 4.5;
/** In OKLab; two greys a step of 6% apart in lightness are so far from each other. */
const DISTANCE_MIN = 0.06;

const css = readFileSync(new URL("../src/style/base.css", import.meta.url), "utf8");
const declared = [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
const themes = { light: 2, dark: 3 } as const;

function linear(hex: string): Rgb {
  const part = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

function contrast(one: Rgb, other: Rgb): number {
  const light = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  const [low = 0, high = 0] = [light(one), light(other)].sort((a, b) => a - b);
  return high / low;
}

const times = (rows: Rgb[], [r, g, b]: Rgb): Rgb =>
  rows.map(([x, y, z]) => x * r + y * g + z * b) as unknown as Rgb;

/** Machado, Oliveira and Fernandes (2009), the whole of each deficiency; in linear RGB. */
const VISIONS: Record<string, Rgb[]> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function oklab(colour: Rgb): Rgb {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour.map((part) => Math.min(1, Math.max(0, part))) as Rgb,
  ).map(Math.cbrt) as Rgb;
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

describe.each(Object.entries(themes))("in %s", (_, place) => {
  const colours = new Map(declared.map((found) => [found[1] ?? "", linear(found[place] ?? "")]));
  const ground = colours.get("ground") ?? [0, 0, 0];
  const named = (start: string) => [...colours].filter(([name]) => name.startsWith(start));

  test.each(["series-", "latency-", "ink"])("lines in %s stand out from the ground", (start) => {
    expect(named(start).length).toBeGreaterThan(0);
    for (const [name, colour] of named(start))
      expect(contrast(colour, ground), name).toBeGreaterThan(CONTRAST_MIN);
  });

  test.each(["series-", "latency-"])("no two of %s are alike with any colour vision", (start) => {
    for (const [vision, matrix] of Object.entries(VISIONS)) {
      const seen = named(start).map(([name, colour]) => [name, oklab(times(matrix, colour))] as const);
      for (const [index, [name, colour]] of seen.entries()) {
        for (const [other, beside] of seen.slice(index + 1)) {
          const apart = Math.hypot(...colour.map((part, at) => part - (beside[at] ?? 0)));
          expect(apart, `${name} and ${other} with ${vision}`).toBeGreaterThan(DISTANCE_MIN);
        }
      }
    }
  });
});
