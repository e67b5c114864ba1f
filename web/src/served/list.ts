// The list of stored runs: live ones first, narrowed by filters that stand in the address, and two or more of them
// chosen to be laid over each other.

import { type Child, el, orUnknown, table, timeOf } from "../dom";
import { count, duration, long, seconds, short } from "../format";
import { morph } from "../morph";
import { clientsText } from "../reading";
import { liveBadge } from "../sections/answer";
import { severitySign } from "../sections/findings";
import { type Address, type Filters, readFilters, setAll, towards, writeFilters } from "../state";
import { themeToggle } from "../theme-toggle";
import { askRuns, type RunEntry } from "./api";

/** The list is asked for anew so often, milliseconds. */
const AGAIN_MS = 5000;
/** Rows beyond this are only counted: filters find them. */
const ROWS_MAX = 300;
/** Findings of one severity that are named; all of them are where the run is. */
const CODES_MAX = 2;
/** Lines of a cell. */
const LINES_MAX = 6;

export class RunList {
  readonly #root: HTMLElement;
  readonly #address: Address;
  readonly #stop: (() => void)[];
  #runs: RunEntry[] | null = null;
  #failure: string | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(root: HTMLElement, address: Address) {
    this.#root = root;
    this.#address = address;
    const input = (event: Event) => this.#changed(event);
    root.addEventListener("input", input);
    this.#stop = [() => root.removeEventListener("input", input), address.onChange(() => this.#draw(true))];
  }

  async start(): Promise<void> {
    document.title = "runs · dyno";
    this.#draw(true);
    await this.#ask();
    this.#timer = setInterval(() => {
      if (!document.hidden) void this.#ask();
    }, AGAIN_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const stop of this.#stop.splice(0)) stop();
  }

  async #ask(): Promise<void> {
    try {
      this.#runs = await askRuns();
      this.#failure = null;
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
    }
    this.#draw();
  }

  /** `anew` where the address has changed by itself: the fields then show what it says. */
  #draw(anew = false): void {
    // What was asked for, and the address that leads away from here, come behind the end, too.
    if (this.#stop.length === 0) return;
    const next = el("div", { class: "list" }, ...this.#parts());
    const now = this.#root.querySelector(":scope > .list");
    if (now === null) this.#root.replaceChildren(next);
    else morph(now, next);
    if (!anew) return;
    const filters = readFilters(this.#address.get());
    for (const field of this.#root.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-filter]")) {
      field.value = filters[field.dataset.filter as keyof Filters];
    }
    this.#check();
  }

  #parts(): Child[] {
    const parameters = this.#address.get();
    const filters = readFilters(parameters);
    const picked = parameters.getAll("pick");
    const all = this.#runs ?? [];
    const shown = liveFirst(all.filter((run) => matches(run, filters)));
    return [
      el(
        "header",
        { class: "masthead" },
        el(
          "div",
          { class: "imprint" },
          el("span", { class: "brand" }, "dyno"),
          el("span", {}, "stored runs"),
          themeToggle(() => {}),
        ),
        el("h1", {}, "Runs"),
      ),
      el("main", {}, ...this.#found(all, shown, filters, picked)),
    ];
  }

  #found(all: RunEntry[], shown: RunEntry[], filters: Filters, picked: string[]): Child[] {
    const parameters = this.#address.get();
    return [
      el(
        "p",
        { class: "status", role: "status" },
        this.#failure === null ? "" : `${this.#failure}; trying again.`,
      ),
      filterBar(all, filters),
      el(
        "div",
        { class: "overlay-bar" },
        el(
          "span",
          { "aria-live": "polite" },
          this.#runs === null ? "loading …" : `${count(shown.length)} of ${count(all.length)} runs`,
        ),
        picked.length >= 2
          ? el(
              "a",
              { class: "overlay", href: this.#address.linkTo(towards(parameters, picked)) },
              `Lay ${picked.length} runs over each other`,
            )
          : el("span", { class: "hint" }, "Choose two or more runs to lay them over each other."),
      ),
      this.#runs !== null &&
        rows(shown.slice(0, ROWS_MAX), picked, (run) => this.#address.linkTo(towards(parameters, [run]))),
      shown.length > ROWS_MAX &&
        el("p", { class: "nothing" }, `${count(shown.length - ROWS_MAX)} more; narrow the list to see them.`),
    ];
  }

  /** Boxes show what the address says; an attribute would only be their first state. */
  #check(): void {
    const picked = this.#address.get().getAll("pick");
    for (const box of this.#root.querySelectorAll<HTMLInputElement>("[data-pick]"))
      box.checked = picked.includes(box.dataset.pick ?? "");
  }

  #changed(event: Event): void {
    const field = event.target;
    const parameters = this.#address.get();
    if (field instanceof HTMLInputElement && field.dataset.pick !== undefined) {
      const run = field.dataset.pick;
      const others = parameters.getAll("pick").filter((name) => name !== run);
      setAll(parameters, "pick", field.checked ? [...others, run] : others);
      this.#address.set(parameters, "replace");
    } else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) {
      const name = field.dataset.filter as keyof Filters | undefined;
      if (name === undefined) return;
      writeFilters(parameters, { ...readFilters(parameters), [name]: field.value });
      this.#address.set(parameters, name === "text" ? "replace" : "push");
    }
    this.#draw();
  }
}

/** `live`, `complete`, `incomplete`, `damaged`, or `killed`: ended without a word. */
export function stateOf(run: RunEntry): string {
  if (run.live) return "live";
  if (run.damaged) return "damaged";
  return run.outcome ?? "killed";
}

export function liveFirst(runs: RunEntry[]): RunEntry[] {
  const begun = (run: RunEntry) => (run.started_at === null ? 0 : Date.parse(run.started_at) || 0);
  return runs.toSorted((a, b) => Number(b.live) - Number(a.live) || begun(b) - begun(a));
}

export function matches(run: RunEntry, filters: Filters): boolean {
  const wanted = filters.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const text = JSON.stringify([
    run.name,
    run.command,
    run.targets,
    run.series.map(({ workload }) => workload),
    run.reason,
  ]).toLowerCase();
  return (
    wanted.every((word) => text.includes(word)) &&
    (filters.target === "" || run.targets.some(({ name }) => name === filters.target)) &&
    (filters.product === "" || run.targets.some(({ product }) => product === filters.product)) &&
    (filters.workload === "" || run.series.some(({ workload }) => workload === filters.workload)) &&
    (filters.state === "" || stateOf(run) === filters.state)
  );
}

function filterBar(runs: RunEntry[], filters: Filters): HTMLElement {
  const choice = (name: keyof Filters, label: string, values: (string | null)[]) => {
    const known = [...new Set([...values.filter((value) => value !== null), filters[name]])]
      .filter((value) => value !== "")
      .sort();
    const options = ["", ...known].map((value) =>
      el("option", { value, selected: value === filters[name] }, value === "" ? "any" : value),
    );
    return el("label", {}, label, el("select", { "data-filter": name }, options));
  };
  return el(
    "form",
    { class: "filters", role: "search" },
    el(
      "label",
      { class: "text" },
      "text",
      el("input", {
        type: "search",
        "data-filter": "text",
        value: filters.text,
        placeholder: "name, command, workload",
      }),
    ),
    choice(
      "target",
      "target",
      runs.flatMap((run) => run.targets.map(({ name }) => name)),
    ),
    choice(
      "product",
      "product",
      runs.flatMap((run) => run.targets.map(({ product }) => product)),
    ),
    choice(
      "workload",
      "workload",
      runs.flatMap((run) => run.series.map(({ workload }) => workload)),
    ),
    choice("state", "state", runs.map(stateOf)),
  );
}

function rows(runs: RunEntry[], picked: string[], linkTo: (run: string) => string): HTMLElement {
  if (runs.length === 0) return el("p", { class: "nothing" }, "No run matches.");
  const labels = ["Run", "When", "Took", "Targets", "Workloads", "Headline", "Findings", "State"];
  const body = runs.map((run) => {
    const box = el("input", {
      type: "checkbox",
      "data-pick": run.name,
      checked: picked.includes(run.name),
      "aria-label": `Choose ${run.name}`,
    });
    return {
      class: run.live ? "live" : "",
      id: `run-${run.name}`,
      cells: [
        [box, el("a", { href: linkTo(run.name) }, run.name)],
        run.started_at === null ? orUnknown(null) : timeOf(run.started_at),
        duration(run.seconds),
        lines(run.targets.map(targetText)),
        lines([...new Set(run.series.map(({ workload }) => workload))]),
        lines(inOrder(run).map((series) => headline(run, series))),
        findings(run),
        state(run),
      ],
    };
  });
  const columns = labels.map((label) => ({ label, figures: label === "Took" }));
  const frame = table("Stored runs, the live ones first, then the newest", columns, body);
  frame.classList.add("runs");
  return frame;
}

/** A line for each; of many the first few and how many more there are, all of which are where the run is. */
export function firstFew(texts: string[]): string[] {
  if (texts.length <= LINES_MAX) return texts;
  return [...texts.slice(0, LINES_MAX - 1), `and ${texts.length - LINES_MAX + 1} more`];
}

function lines(texts: string[]): Child {
  return texts.length === 0 ? orUnknown(null) : firstFew(texts).map((text) => el("div", {}, text));
}

function targetText({ name, product, version, embedded_profile }: RunEntry["targets"][number]): string {
  return `${name}: ${product ?? "unrecognised"}${version === null ? "" : ` ${version}`}${embedded_profile === null ? "" : ` (${embedded_profile})`}`;
}

/** Series in the order they began, and of each the targets in theirs, whichever of them began first. */
function inOrder({ targets, series }: RunEntry): RunEntry["series"] {
  const names = series.map(({ series: name }) => name);
  const place = (target: string) => targets.findIndex(({ name }) => name === target);
  return series.toSorted(
    (a, b) => names.indexOf(a.series) - names.indexOf(b.series) || place(a.target) - place(b.target),
  );
}

/** `pg read 84.9k TPS at 8 clients`, `read 4.99k TPS at 5,000/s`, `pg queries 1.12 s a pass`. */
export function headline(run: Pick<RunEntry, "targets">, series: RunEntry["series"][number]): string {
  const whose = run.targets.length > 1 ? `${series.target} ` : "";
  const { passes } = series;
  if (passes !== undefined) {
    const figure =
      passes.total_s === null
        ? `${count(passes.ran)} of ${count(passes.queries)} queries`
        : `${seconds(passes.total_s)} s a pass`;
    return `${whose}${series.series} ${figure}`;
  }
  return `${whose}${series.series} ${short(series.tps)} TPS at ${loadText(series)}`;
}

/** What was asked of the server: of an open load the rate, whose clients are only as many as it took. */
function loadText(series: RunEntry["series"][number]): string {
  const { rate_per_s: from, rate_end_per_s: to } = series;
  if (from === null) return clientsText(series);
  return to === null ? `${long(from)}/s` : `${long(from)} to ${long(to)}/s`;
}

/** What its figures must be doubted for, the gravest first; nothing of a run that has not been judged. */
function findings({ findings: found }: RunEntry): Child {
  if (found === null) return null;
  const line = (severity: "invalid" | "doubt", codes: string[]) =>
    codes.length > 0 &&
    el(
      "div",
      { class: "doubts", title: codes.join(", ") },
      severitySign(severity),
      ` ${codes.slice(0, CODES_MAX).join(", ")}`,
      codes.length > CODES_MAX && ` and ${codes.length - CODES_MAX} more`,
    );
  const { series_invalid: bad = 0, series: all = 0 } = found;
  const part =
    bad > 0 && bad < all ? el("div", { class: "doubts" }, `${bad} of ${all} series invalid:`) : null;
  return [part, line("invalid", found.invalid), line("doubt", found.doubt)];
}

const STATE_TITLES: Record<string, string> = {
  killed: "its process is gone, and it has not said that it ended",
  damaged: "what is stored of it for this list is not as it was written",
};

function state(run: RunEntry): Child {
  const text = stateOf(run);
  if (run.live) return liveBadge();
  return el(
    "span",
    {
      class: text === "complete" ? "badge good" : "badge bad",
      title: run.reason ?? STATE_TITLES[text],
    },
    text,
  );
}
