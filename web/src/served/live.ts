// The stream of a live run's events. It comes back by itself when the connection is lost, and says since when it is.

import type { Update, WrittenReport } from "../document";
import { liveAddress } from "./api";

export interface Listener {
  report: (written: WrittenReport) => void;
  update: (update: Update) => void;
  /** The run has finished, or why no more will come; and where its report lies. */
  end: (reason: string | null, report: string | null) => void;
  /** The connection is lost since then, and sought again. */
  lost: (since: Date) => void;
  found: () => void;
}

/** A browser gives up where the server refuses; the page does not, milliseconds. */
const AGAIN_MS = 3000;

export class LiveStream {
  readonly #run: string;
  readonly #listener: Listener;
  #source: EventSource | null = null;
  #lostSince: Date | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(run: string, listener: Listener) {
    this.#run = run;
    this.#listener = listener;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#source?.close();
  }

  #open(): void {
    this.#source?.close();
    const source = new EventSource(liveAddress(this.#run));
    this.#source = source;
    const heard = <T>(event: Event): T => {
      this.#heard();
      return JSON.parse((event as MessageEvent<string>).data) as T;
    };
    source.addEventListener("report", (event) => this.#listener.report(heard(event)));
    source.addEventListener("update", (event) => this.#listener.update(heard(event)));
    source.addEventListener("end", (event) => {
      const { reason, report } = heard<{ reason?: string | null; report?: string | null }>(event);
      this.close();
      this.#listener.end(reason ?? null, report ?? null);
    });
    source.addEventListener("open", () => this.#heard());
    source.addEventListener("error", () => this.#failed());
  }

  #heard(): void {
    if (this.#lostSince === null) return;
    this.#lostSince = null;
    this.#listener.found();
  }

  #failed(): void {
    if (this.#closed) return;
    if (this.#lostSince === null) {
      this.#lostSince = new Date();
      this.#listener.lost(this.#lostSince);
    }
    if (this.#source?.readyState === EventSource.CLOSED) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#open(), AGAIN_MS);
    }
  }
}
