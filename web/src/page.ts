// The page as a whole. `ReportPage.show` draws a document and can be called again with a newer one, which is
// how a live page will use it.

import { Charts } from "./charts/chart";
import { releaseGroup, type TimeView } from "./charts/panel";
import { type Report, SCHEMA } from "./document";
import { type Child, el } from "./dom";
import { answers, masthead } from "./sections/answer";
import { clientsSection } from "./sections/clients";
import {
  checksSection,
  dataSection,
  hardwareSection,
  noticesSection,
  runSection,
  settingsSection,
} from "./sections/evidence";
import { findingsSection, verificationSection } from "./sections/findings";
import { stagesSection } from "./sections/stages";
import { timeSection } from "./sections/time";
import { chooseTheme, currentTheme, onThemeChange } from "./theme";

export class ReportPage {
  readonly #root: HTMLElement;
  readonly #stopWatching: () => void;
  #charts = new Charts();
  #views: TimeView[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#stopWatching = onThemeChange(() => this.#charts.redraw());
  }

  /** Draws a report in place of what was shown; a zoom into time that was chosen stays. */
  show(report: Report): void {
    const zoomed = new Map(
      this.#views
        .filter((view) => view.span[0] !== view.whole[0] || view.span[1] !== view.whole[1])
        .map((view) => [view.group, view.span]),
    );
    this.#clear();
    document.title = `${report.run.name} · dyno`;
    const time = timeSection(report, this.#charts);
    this.#views = time?.views ?? [];
    this.#root.replaceChildren();
    this.#root.append(...this.#parts(report, time?.element ?? null));
    this.#charts.mount();
    for (const view of this.#views) {
      const span = zoomed.get(view.group);
      if (span !== undefined) view.show(span);
    }
  }

  destroy(): void {
    this.#clear();
    this.#stopWatching();
    this.#root.replaceChildren();
  }

  #clear(): void {
    this.#charts.destroy();
    for (const view of this.#views) releaseGroup(view);
    this.#charts = new Charts();
    this.#views = [];
  }

  #parts(report: Report, time: HTMLElement | null): HTMLElement[] {
    const rest: Child[] = [
      clientsSection(report, this.#charts),
      time,
      stagesSection(report),
      settingsSection(report),
      dataSection(report),
      hardwareSection(report),
      runSection(report),
      checksSection(report),
      noticesSection(report),
    ];
    const main = el(
      "main",
      { id: "main" },
      report.schema !== SCHEMA &&
        el("p", { class: "incomplete" }, `This page draws ${SCHEMA}; the report is ${report.schema}.`),
      el(
        "div",
        { class: "top" },
        answers(report),
        el("div", { class: "beside" }, findingsSection(report), verificationSection(report)),
      ),
      ...rest,
    );
    return [
      el("a", { class: "skip", href: "#main" }, "Skip to the figures"),
      masthead(report, this.#themeToggle()),
      contents(main),
      main,
      el("footer", {}, `dyno ${report.run.dyno_version} · ${report.schema}`),
    ];
  }

  #themeToggle(): HTMLElement {
    const button = el("button", { type: "button", class: "theme" });
    const label = () => {
      const other = currentTheme() === "dark" ? "light" : "dark";
      button.textContent = other;
      button.setAttribute("aria-label", `Show in ${other} colours`);
    };
    button.addEventListener("click", () => {
      chooseTheme(currentTheme() === "dark" ? "light" : "dark");
      label();
      this.#charts.redraw();
    });
    label();
    return button;
  }
}

function contents(main: HTMLElement): HTMLElement {
  const links = [...main.querySelectorAll<HTMLElement>("section[id]")].flatMap((part) => {
    const title = part.querySelector(":scope > h2")?.textContent;
    return title == null || part.id === "answer" ? [] : [el("a", { href: `#${part.id}` }, title)];
  });
  return el("nav", { "aria-label": "Contents" }, links);
}
