// What a reader has chosen to see, as it stands in the address: in the query of a served page, in the hash of a page
// that is a file. Pure but for `Address`; a parameter that is not known here is left as it is.

export type AxisKind = "time" | "start" | "step";

/** How a run or an overlay is looked at. */
export interface View {
  /** Keys of lanes that are not drawn. */
  hidden: string[];
  /** On the axis that is chosen; null for the whole. */
  span: [number, number] | null;
  /** Null where the page chooses. */
  axis: AxisKind | null;
  series: string | null;
  /** Charts that are shown beside the usual ones, and usual ones that are not. */
  more: string[];
  less: string[];
  /** Whether times of queries stand on a logarithmic axis. */
  log: boolean;
  /** Key of the lane that others are compared with; null for the first. */
  base: string | null;
}

/** What the list of runs is narrowed to; empty for all. */
export interface Filters {
  text: string;
  target: string;
  product: string;
  workload: string;
  state: string;
}

const AXES: readonly string[] = ["time", "start", "step"] satisfies AxisKind[];
const VIEWED = ["hide", "span", "axis", "series", "chart", "without", "scale", "base"];
const FILTERS = ["text", "target", "product", "workload", "state"] as const satisfies (keyof Filters)[];

export function readView(parameters: URLSearchParams): View {
  const axis = parameters.get("axis");
  return {
    hidden: parameters.getAll("hide"),
    span: readSpan(parameters.get("span")),
    axis: axis !== null && AXES.includes(axis) ? (axis as AxisKind) : null,
    series: parameters.get("series"),
    more: parameters.getAll("chart"),
    less: parameters.getAll("without"),
    log: parameters.get("scale") === "log",
    base: parameters.get("base"),
  };
}

export function writeView(parameters: URLSearchParams, view: View): void {
  setAll(parameters, "hide", view.hidden);
  setAll(parameters, "span", view.span === null ? [] : [view.span.map(written).join("~")]);
  setAll(parameters, "axis", view.axis === null ? [] : [view.axis]);
  setAll(parameters, "series", view.series === null ? [] : [view.series]);
  setAll(parameters, "chart", view.more);
  setAll(parameters, "without", view.less);
  setAll(parameters, "scale", view.log ? ["log"] : []);
  setAll(parameters, "base", view.base === null ? [] : [view.base]);
}

export function readFilters(parameters: URLSearchParams): Filters {
  return Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name) ?? ""])) as unknown as Filters;
}

export function writeFilters(parameters: URLSearchParams, filters: Filters): void {
  for (const name of FILTERS) setAll(parameters, name, filters[name] === "" ? [] : [filters[name]]);
}

/** Runs that the address names: none for the list, two or more for an overlay. */
export function readRuns(parameters: URLSearchParams): string[] {
  return [...new Set(parameters.getAll("run").filter((name) => name !== ""))];
}

/** The parameters that lead from here to other runs: what belongs to the view of these is left behind. */
export function towards(parameters: URLSearchParams, runs: string[]): URLSearchParams {
  const next = new URLSearchParams(parameters);
  for (const name of ["run", "pick", ...VIEWED, ...FILTERS]) next.delete(name);
  for (const run of runs) next.append("run", run);
  return next;
}

export function setAll(parameters: URLSearchParams, name: string, values: string[]): void {
  parameters.delete(name);
  for (const value of values) parameters.append(name, value);
}

function readSpan(text: string | null): [number, number] | null {
  const parts = (text ?? "").split("~");
  const [from, to] = parts.map(Number);
  if (parts.length !== 2 || parts.some((part) => part.trim() === "")) return null;
  return Number.isFinite(from) && Number.isFinite(to) && (to ?? 0) > (from ?? 0)
    ? [from as number, to as number]
    : null;
}

/** To the millisecond. */
function written(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}

/** The page's address: where the state is read from and written to. */
export class Address {
  readonly #kind: "query" | "hash";
  #listeners: (() => void)[] = [];

  constructor(kind: "query" | "hash") {
    this.#kind = kind;
    const tell = () => {
      for (const listener of this.#listeners) listener();
    };
    addEventListener("popstate", tell);
  }

  get(): URLSearchParams {
    if (this.#kind === "query") return new URLSearchParams(location.search);
    const hash = location.hash.slice(1);
    // A hash without a value is the name of a section.
    return new URLSearchParams(hash.includes("=") ? hash : "");
  }

  /** Where a link with these parameters leads. */
  linkTo(parameters: URLSearchParams): string {
    const text = parameters.toString();
    if (this.#kind === "hash") return text === "" ? location.pathname : `#${text}`;
    return text === "" ? location.pathname : `?${text}`;
  }

  /** `push` for what a reader would go back from; `replace` for what flows, such as a zoom by the wheel. */
  set(parameters: URLSearchParams, how: "push" | "replace"): void {
    const link = this.linkTo(parameters);
    if (link === this.linkTo(this.get())) return;
    if (how === "push") history.pushState(null, "", link);
    else history.replaceState(null, "", link);
  }

  /** Calls back when the reader goes back or forward. Returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }
}
