// A run, or several laid over each other, as `dyno serve` has them: stored ones are fetched, live ones followed, and
// what is zoomed into is asked for with more points.

import { readReport, withUpdate } from "../columns";
import type { Comparison, Report } from "../document";
import { el } from "../dom";
import { clock, long, sentence } from "../format";
import { ReportPage } from "../page";
import { clientsText, isLive, kindText, runningText } from "../reading";
import { speedUpInRun } from "../sections/queries";
import { type Address, towards } from "../state";
import { ApiError, askComparison, askReport, POINTS_MOST } from "./api";
import { comparisonSection, speedUpAmong } from "./comparison";
import { isCoarse, type Span, spliced } from "./detail";
import { LiveStream } from "./live";

/** A figure that is older than this is not that of the running second. */
const STALE_S = 3;
/** A zoom has come to rest after this, milliseconds. */
const REST_MS = 250;
/** What is asked for beside the span on either side, so that a small move needs no new answer. */
const MARGIN = 0.15;

export class Watch {
  readonly #names: string[];
  readonly #page: ReportPage;
  readonly #status = el("div", { class: "status", role: "region", "aria-label": "Connection" });
  readonly #figures = el("span", { class: "live-figures", "aria-hidden": "true" });
  readonly #aloud = el("output", { class: "state", "aria-live": "polite" });
  readonly #body = el("div", {});
  readonly #base = new Map<string, Report>();
  readonly #finer = new Map<string, { span: Span; report: Report }>();
  readonly #asked = new Map<string, string>();
  readonly #streams = new Map<string, LiveStream>();
  readonly #lost = new Map<string, Date>();
  #comparison: Comparison | null = null;
  #stage = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  readonly #onVisible = () => this.#draw();

  constructor(root: HTMLElement, names: string[], address: Address) {
    this.#names = names;
    const all = address.linkTo(towards(address.get(), []));
    this.#status.append(el("a", { href: all, class: "back" }, "← all runs"), this.#aloud, this.#figures);
    root.replaceChildren(this.#status, this.#body);
    this.#page = new ReportPage(this.#body, address);
    this.#page.onSeconds = (shown) => this.#shown(shown);
    this.#page.extra = (scene) => comparisonSection(this.#comparison, scene);
    this.#page.speedUpOf = (...pair) =>
      speedUpInRun(...pair) ??
      (this.#comparison === null ? undefined : speedUpAmong(this.#comparison, ...pair));
    document.addEventListener("visibilitychange", this.#onVisible);
  }

  async start(): Promise<void> {
    this.#say("loading …");
    try {
      const written = await Promise.all(this.#names.map((name) => askReport(name)));
      if (this.#stopped) return;
      for (const report of written.map(readReport)) {
        // The address may say `last`, or the beginning of a name.
        this.#base.set(report.run.name, report);
        if (isLive(report)) this.#follow(report.run.name);
      }
      this.#say("");
      this.#draw();
      await this.#compare();
    } catch (error) {
      if (!this.#stopped) this.#failed(error);
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const stream of this.#streams.values()) stream.close();
    document.removeEventListener("visibilitychange", this.#onVisible);
    this.#page.destroy();
  }

  #follow(name: string): void {
    const stream = new LiveStream(name, {
      report: (written) => this.#take(name, readReport(written)),
      update: (update) => {
        const before = this.#base.get(name);
        if (before !== undefined) this.#take(name, withUpdate(before, update));
      },
      end: (reason, report) => {
        this.#streams.delete(name);
        this.#lost.delete(name);
        const where = report === null ? "" : ` Its report is ${report}.`;
        this.#say(reason === null ? `${name} has finished.${where}` : sentence(`${name}: ${reason}`));
        void this.#reload(name);
      },
      lost: (since) => {
        this.#lost.set(name, since);
        this.#say("");
      },
      found: () => {
        this.#lost.delete(name);
        this.#say("Connected again.");
      },
    });
    this.#streams.set(name, stream);
  }

  #take(name: string, report: Report): void {
    this.#base.set(name, report);
    if (!document.hidden) this.#draw();
  }

  /** A run that has finished is read once more, as finely as can be: the server may end with it, and the page go on. */
  async #reload(name: string): Promise<void> {
    try {
      this.#base.set(name, readReport(await askReport(name, null, POINTS_MOST)));
      this.#finer.delete(name);
      this.#asked.delete(name);
    } catch {
      // What was heard last stays.
      const report = this.#base.get(name);
      if (report !== undefined) this.#base.set(name, { ...report, live: false });
    }
    if (this.#stopped) return;
    this.#draw();
    await this.#compare();
  }

  async #compare(): Promise<void> {
    const reports = [...this.#base.values()];
    // Of a run that goes on there is nothing to compare yet.
    const sides = reports.reduce((sum, { targets }) => sum + targets.length, 0);
    if (sides < 2 || this.#streams.size > 0) return;
    const found = await askComparison(reports);
    if (this.#stopped || found === null) return;
    this.#comparison = found;
    this.#draw();
  }

  #draw(): void {
    if (this.#stopped) return;
    const reports = [...this.#base].map(([name, base]) => {
      const finer = this.#finer.get(name);
      return finer === undefined ? base : spliced(base, finer.report, finer.span);
    });
    if (reports.length === 0) return;
    this.#page.show(reports);
    this.#showFigures(reports);
  }

  /** The figures of the last second, for the eye alone; a stage that begins is said aloud. */
  #showFigures(reports: Report[]): void {
    const live = reports.filter(isLive);
    const stages: string[] = [];
    const figures = live.flatMap((report) =>
      report.timelines.flatMap(({ target, stream, load }) => {
        // A driver that waits for a query may tell nothing else meanwhile.
        const waits = report.stages.find(
          (one) => one.target === target && (one.stream ?? 0) === stream && runningText(report, one) !== null,
        );
        const stage = waits ?? report.stages.find(({ id }) => id === load.stage.at(-1));
        // While targets take turns, the last figure of the one that waits is an old one.
        const running = (load.t_s.at(-1) ?? Number.NEGATIVE_INFINITY) > report.run.seconds - STALE_S;
        if (!(running || waits !== undefined) || stage === undefined) return [];
        stages.push(`${target}: ${stage.series}, ${kindText(stage)}, ${clientsText(stage)}`);
        const figure =
          runningText(report, stage) ??
          `${long(load.tps.findLast((rate) => !Number.isNaN(rate)))} ${stage.pass === true ? "queries/s" : "TPS"}`;
        return [`${stream > 0 ? stage.series : target} ${figure}`];
      }),
    );
    const at = Math.max(0, ...live.map(({ run }) => run.seconds));
    this.#figures.textContent = live.length === 0 ? "" : `${clock(at)} · ${figures.join(" · ")}`;
    const stage = stages.join("; ");
    if (stage === this.#stage || live.length === 0) return;
    this.#stage = stage;
    if (this.#lost.size === 0) this.#say(stage);
  }

  #say(text: string): void {
    const lost = [...this.#lost.values()].sort((a, b) => a.getTime() - b.getTime())[0];
    this.#status.classList.toggle("lost", lost !== undefined);
    const said =
      lost === undefined
        ? text
        : `Connection lost since ${lost.toLocaleTimeString()}; what came until then is shown. Trying again.`;
    if (this.#aloud.textContent !== said) this.#aloud.textContent = said;
  }

  #failed(error: unknown): void {
    const missing = error instanceof ApiError && error.status === 404;
    const words = missing
      ? `There is no run ${this.#names.join(" or ")} in this store.`
      : String(error instanceof Error ? error.message : error);
    this.#say("");
    this.#body.replaceChildren(el("p", { class: "incomplete", role: "alert" }, words));
  }

  /** What is shown of each run: where the server may have more points of it, they are asked for. */
  #shown(shown: Map<Report, Span>): void {
    clearTimeout(this.#timer);
    const wanted = [...shown].filter(([report, span]) => isCoarse(report, span));
    if (wanted.length === 0) return;
    this.#timer = setTimeout(() => {
      for (const [report, span] of wanted) void this.#refine(report.run.name, span);
    }, REST_MS);
  }

  async #refine(name: string, [from, to]: Span): Promise<void> {
    const key = `${from.toFixed(2)}~${to.toFixed(2)}`;
    if (this.#asked.get(name) === key) return;
    this.#asked.set(name, key);
    const margin = (to - from) * MARGIN;
    const span: Span = [Math.max(0, from - margin), to + margin];
    try {
      const report = readReport(await askReport(name, span));
      if (this.#stopped || this.#asked.get(name) !== key) return;
      this.#finer.set(name, { span: [span[0], Math.min(span[1], report.run.seconds)], report });
      this.#draw();
    } catch {
      // The coarse points stay; the next zoom asks again.
      this.#asked.delete(name);
    }
  }
}
