// The served page: which of its views the address names, and the ways between them.

import { Address, readRuns } from "../state";
import { RunList } from "./list";
import { Watch } from "./watch";

interface Shown {
  start: () => Promise<void>;
  stop: () => void;
}

export class Served {
  readonly #root: HTMLElement;
  readonly #address = new Address("query");
  #shown: Shown | null = null;
  #route = "";

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  start(): void {
    this.#address.onChange(() => this.#follow());
    this.#root.addEventListener("click", (event) => this.#clicked(event));
    this.#follow();
  }

  /** Shows what the address names, where that is another view than the one that stands. */
  #follow(): void {
    const runs = readRuns(this.#address.get());
    const route = JSON.stringify(runs);
    if (route === this.#route) return;
    this.#route = route;
    this.#shown?.stop();
    this.#root.replaceChildren();
    scrollTo({ top: 0, behavior: "instant" });
    this.#shown =
      runs.length === 0 ? new RunList(this.#root, this.#address) : new Watch(this.#root, runs, this.#address);
    void this.#shown.start();
  }

  /** Links between views need no new page. */
  #clicked(event: MouseEvent): void {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href") ?? "";
    if (link === null || link.target !== "" || !(href.startsWith("?") || href === location.pathname)) return;
    event.preventDefault();
    this.#address.set(new URL(link.href).searchParams, "push");
    this.#follow();
  }
}
