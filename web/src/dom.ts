// Elements built from values. Text is always set as text: nothing of a report is ever parsed as HTML.

import { moment } from "./format";

export type Child = Node | string | null | false | Child[];

type Attributes = Record<string, string | number | boolean | undefined>;

/** An element with attributes (`class`, `href`, `aria-label`, …) and children; false and undefined set nothing. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

export function append(parent: Element | DocumentFragment, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child !== null && child !== false) parent.append(child);
  }
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

export type IconName = "pass" | "fail" | "doubt" | "note" | "unknown" | "shield";

const ICONS: Record<IconName, { shape: string; mark: string }> = {
  pass: { shape: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Z", mark: "M4.8 8.3 7 10.5l4.2-4.8" },
  fail: {
    shape: "M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1Z",
    mark: "M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2",
  },
  doubt: { shape: "M8 1.2 15.4 14.6H.6Z", mark: "M8 6v4M8 12.2v.3" },
  note: { shape: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Z", mark: "M8 7.4v4M8 4.6v.3" },
  shield: {
    shape: "M8 1l6 2.2V8c0 3.4-2.4 5.9-6 7-3.6-1.1-6-3.6-6-7V3.2Z",
    mark: "M5.4 7.8l1.9 1.9 3.4-3.8",
  },
  unknown: { shape: "M1 1h14v14H1Z", mark: "M4.5 8h7" },
};

/** A small sign that differs in shape, not in colour alone; the word beside it says the same. */
export function icon(name: IconName): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  setAttributes(svg, { viewBox: "0 0 16 16", class: `icon icon-${name}`, "aria-hidden": "true" });
  for (const [part, path] of Object.entries(ICONS[name])) {
    const element = document.createElementNS(space, "path");
    setAttributes(element, { d: path, class: part });
    svg.append(element);
  }
  return svg;
}

/** A value, or a muted `unknown`. */
export function orUnknown(value: string | null | undefined): Node {
  if (value === null || value === undefined || value === "unknown") {
    return el("span", { class: "unknown" }, "unknown");
  }
  return document.createTextNode(value);
}

/** A time in the reader's time zone; as it was written for those who ask. */
export function timeOf(rfc3339: string): HTMLElement {
  return el("time", { datetime: rfc3339, title: rfc3339 }, moment(rfc3339));
}

export interface Column {
  label: Child;
  /** Figures stand right-aligned. */
  figures?: boolean;
  /** What the heading means, for those who ask. */
  title?: string;
}

export interface Row {
  class?: string;
  id?: string;
  cells: Child[];
}

/** A table that scrolls in itself where the page is narrow. The first cell of a row is its heading. */
export function table(caption: string, columns: Column[], rows: Row[]): HTMLElement {
  const head = columns.map((column) =>
    el("th", { scope: "col", class: column.figures && "figures", title: column.title }, column.label),
  );
  const body = rows.map((row) =>
    el(
      "tr",
      { class: row.class, id: row.id },
      ...row.cells.map((cell, index) => {
        const attributes = { class: columns[index]?.figures && "figures" };
        return index === 0 ? el("th", { scope: "row", ...attributes }, cell) : el("td", attributes, cell);
      }),
    ),
  );
  return el(
    "div",
    { class: "table", role: "region", "aria-label": caption, tabindex: 0 },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...body),
    ),
  );
}

/** Terms and what is known of them. */
export function facts(pairs: [string, Child][]): HTMLElement {
  return el(
    "dl",
    { class: "facts" },
    pairs.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))),
  );
}

/** A part of the page with a heading that can be linked to. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    ...children,
  );
}
