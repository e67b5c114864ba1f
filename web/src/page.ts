// A report, or several laid over each other, as a page. `ReportPage.show` draws documents and can be called again with
// newer ones: what stands is brought up to date in place, so that no zoom, scroll or choice is lost.

import { Charts } from "./charts/chart";
import { signOf } from "./charts/marks";
import type { Span } from "./charts/view";
import { type Report, SCHEMA } from "./document";
import { type Child, el } from "./dom";
import { morphChildren } from "./morph";
import { areQuerySets, isLive } from "./reading";
import { productOf, type Scene, sceneOf } from "./scene";
import { answers, masthead } from "./sections/answer";
import { ClientsSection } from "./sections/clients";
import { costsSection } from "./sections/costs";
import {
  checksSection,
  dataSection,
  hardwareSection,
  noticesSection,
  runSection,
  settingsSection,
} from "./sections/evidence";
import { findingsSection, openInPrint, verificationSection } from "./sections/findings";
import { loadingSection } from "./sections/loading";
import { mixesSection } from "./sections/mixes";
import { overlayMasthead, overlayTitle } from "./sections/overlay";
import { queriesSection, type SpeedUpOf, speedUpInRun } from "./sections/queries";
import { stagesSection } from "./sections/stages";
import { TimeSection } from "./sections/time";
import { variantsSection } from "./sections/variants";
import { type Address, readView, towards, type View, writeView } from "./state";
import { onThemeChange } from "./theme";
import { themeToggle } from "./theme-toggle";

export class ReportPage {
  /** What of each run is shown, when it has changed: a served page asks for more points of it. */
  onSeconds: (shown: Map<Report, Span>) => void = () => {};
  /** A part that a served page puts under the answer. */
  extra: ((scene: Scene) => HTMLElement | null) | null = null;
  /** A served page knows it of targets of different runs too. */
  speedUpOf: SpeedUpOf = speedUpInRun;
  readonly #root: HTMLElement;
  readonly #address: Address;
  readonly #stop: (() => void)[];
  readonly #charts = new Charts();
  readonly #clients = new ClientsSection(this.#charts);
  readonly #time = new TimeSection(this.#charts, (patch, how, drawn) => this.#choose(patch, how, drawn));
  #view: View;
  #scene: Scene | null = null;
  /** Then charts stand first, and stay there when it ends. */
  #wasLive = false;

  constructor(root: HTMLElement, address: Address) {
    this.#root = root;
    this.#address = address;
    this.#view = readView(address.get());
    this.#time.onSeconds = (shown) => this.onSeconds(shown);
    const onClick = (event: Event) => this.#clicked(event);
    root.addEventListener("click", onClick);
    this.#stop = [
      onThemeChange(() => this.#charts.redraw()),
      openInPrint(root),
      address.onChange(() => {
        this.#view = readView(address.get());
        this.#drawn();
      }),
      () => root.removeEventListener("click", onClick),
    ];
  }

  /** Draws reports in place of what was shown. */
  show(reports: Report[]): void {
    const first = this.#scene === null;
    this.#scene = sceneOf(reports);
    this.#wasLive ||= reports.some(isLive);
    const names = reports.map(({ run }) => run.name).join(" and ");
    document.title = `${names}${reports.length > 1 ? `: ${overlayTitle(reports)}` : ""} · dyno`;
    // Who is at the top sees what comes in there.
    const anchor = first || scrollY === 0 ? null : anchorOf(this.#root);
    this.#drawn();
    if (anchor !== null)
      scrollBy({ top: anchor.element.getBoundingClientRect().top - anchor.top, behavior: "instant" });
  }

  destroy(): void {
    for (const stop of this.#stop) stop();
    this.#charts.destroy();
    this.#root.replaceChildren();
  }

  #choose(patch: Partial<View>, how: "push" | "replace", drawn = false): void {
    this.#view = { ...this.#view, ...patch };
    const parameters = this.#address.get();
    writeView(parameters, this.#view);
    this.#address.set(parameters, how);
    if (!drawn) this.#drawn();
  }

  #drawn(): void {
    const scene = this.#scene;
    if (scene === null) return;
    const next = el("div", {}, ...this.#parts(scene));
    if (this.#root.childElementCount === 0) {
      this.#root.append(...next.childNodes);
    } else {
      // The sections of charts stand already; in the new tree empty places stand for them.
      morphChildren(this.#root, next);
    }
    this.#clients.update(scene, this.#view);
    this.#time.update(scene, this.#view);
  }

  #parts(scene: Scene): Child[] {
    const [report] = scene.reports;
    if (report === undefined) return [];
    const main = this.#main(scene, report);
    const toggle = themeToggle(() => this.#charts.redraw());
    const linkTo = (run: string) => this.#address.linkTo(towards(this.#address.get(), [run]));
    const head = scene.reports.length > 1 ? overlayMasthead(scene, toggle, linkTo) : masthead(report, toggle);
    const versions = [...new Set(scene.reports.map(({ run }) => run.dyno_version))].join(", ");
    return [
      el("a", { class: "skip", href: "#main" }, "Skip to the figures"),
      head,
      contents(
        main,
        this.#clients.element.hidden === true || !hasLadders(scene),
        this.#time.element.hidden === true,
      ),
      scene.streams.length > 1 && this.#legend(scene),
      main,
      el("footer", {}, `dyno ${versions} · ${report.schema}`),
    ];
  }

  #main(scene: Scene, report: Report): HTMLElement {
    const several = scene.reports.length > 1;
    const foreign = scene.reports.find(({ schema }) => schema !== SCHEMA);
    const figures = [
      several ? null : variantsSection(report),
      answers(scene),
      queriesSection(scene, this.#view, this.speedUpOf),
      mixesSection(scene, this.#view),
      loadingSection(scene),
      this.extra?.(scene) ?? null,
      findingsSection(scene),
      verificationSection(scene),
    ];
    const [clients, time] = [
      this.#place("clients", this.#clients.element),
      this.#place("time", this.#time.element),
    ];
    const evidence = several
      ? []
      : [
          settingsSection(report),
          dataSection(report),
          hardwareSection(report),
          runSection(report),
          checksSection(report),
          noticesSection(report),
        ];
    return el(
      "main",
      { id: "main" },
      foreign !== undefined &&
        el("p", { class: "incomplete" }, `This page draws ${SCHEMA}; the report is ${foreign.schema}.`),
      // Of a query set the queries are what is watched.
      ...(this.#wasLive && !areQuerySets(scene.reports)
        ? [time, clients, ...figures]
        : [...figures, clients, time]),
      costsSection(scene),
      stagesSection(scene),
      ...evidence,
    );
  }

  /** The section itself at first; later an empty place for it, since it stands in the page. */
  #place(name: string, element: HTMLElement): HTMLElement {
    return this.#root.childElementCount === 0 ? element : el("section", { id: name, "data-own": name });
  }

  /** The targets, each to be turned off and on. */
  #legend(scene: Scene): HTMLElement {
    const buttons = scene.streams.map((lane) => {
      const shown = !this.#view.hidden.includes(lane.key);
      const button = el(
        "button",
        {
          type: "button",
          class: "lane",
          "data-lane": lane.key,
          "aria-pressed": String(shown),
          title: shown ? "hide" : "show",
        },
        signOf(lane),
        el("b", {}, lane.label),
        el("span", {}, productOf(lane.target)),
      );
      button.style.setProperty("--own", `var(--${lane.colour})`);
      return button;
    });
    return el("div", { class: "lanes", role: "region", "aria-label": "Targets that are drawn" }, buttons);
  }

  // One listener for what is redrawn with the page: elements come and go, the root stays.
  #clicked(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const lane = target?.closest<HTMLElement>("[data-lane]")?.dataset.lane;
    if (lane !== undefined) {
      const { hidden } = this.#view;
      this.#choose(
        { hidden: hidden.includes(lane) ? hidden.filter((key) => key !== lane) : [...hidden, lane] },
        "push",
      );
      return;
    }
    const chosen = target?.closest<HTMLElement>("[data-choose]");
    if (chosen != null) {
      const { choose, value } = chosen.dataset;
      if (choose === "scale") this.#choose({ log: value === "log" }, "push");
      else if (choose === "base") this.#choose({ base: value ?? null }, "push");
      else copyTable(chosen);
      return;
    }
    // A link within the page would put its name where the state stands.
    const id = target?.closest("a[href^='#']")?.getAttribute("href")?.slice(1);
    const section = id === undefined || id.includes("=") ? null : document.getElementById(id);
    if (section === null || !this.#root.contains(section)) return;
    event.preventDefault();
    if (section instanceof HTMLDetailsElement) section.open = true;
    section.scrollIntoView();
    section.setAttribute("tabindex", "-1");
    section.focus({ preventScroll: true });
  }
}

/** Copies the table beside a button as a selection, which a spreadsheet takes as cells; the reader sees what was taken. */
function copyTable(button: HTMLElement): void {
  const table = button.closest("div:has(table)")?.querySelector("table");
  if (table == null) return;
  getSelection()?.selectAllChildren(table);
  document.execCommand("copy");
}

/** Something that the reader sees now, and where it stands. */
function anchorOf(root: HTMLElement): { element: Element; top: number } | null {
  for (const element of root.querySelectorAll(".strip, section, figure, tr")) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > 0 && top < innerHeight && top >= -200) return { element, top };
  }
  return null;
}

function hasLadders({ reports }: Scene): boolean {
  return reports.some(({ series }) => series.some(({ ladder }) => ladder.length > 0));
}

function contents(main: HTMLElement, noClients: boolean, noTime: boolean): HTMLElement {
  const named: Record<string, string> = {
    clients: noClients ? "" : "Against the load",
    time: noTime ? "" : "Over time",
  };
  const links = [...main.querySelectorAll<HTMLElement>("section[id]")].flatMap((part) => {
    const title = named[part.id] ?? part.querySelector(":scope > h2")?.textContent;
    return !title || part.id === "answer" ? [] : [el("a", { href: `#${part.id}` }, title)];
  });
  return el("nav", { "aria-label": "Contents" }, links);
}
