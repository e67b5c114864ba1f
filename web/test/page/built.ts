// The built page with a report in it, put together as `dyno-report` does it, and a browser to open it in.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";
import { type BrowserContext, type Browser as Chromium, chromium, type Page } from "playwright-core";
import type { WrittenReport } from "../../src/document";

/** A longer report stands in the file compressed. */
const PLAIN_MAX = 300_000;
const MARKER = '"__DYNO_REPORT__"';
/** The first takes half the processor time of the others. */
const BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** A browser of this machine; `DYNO_CHROMIUM` names another. */
export function findBrowser(): string | undefined {
  const named = process.env.DYNO_CHROMIUM;
  return (named === undefined ? BROWSERS.map((name) => `/usr/bin/${name}`) : [named]).find(existsSync);
}

/** The page as `dyno serve` gives it: without a report. */
export function servedPage(): string {
  return readFileSync(new URL("../../dist/index.html", import.meta.url), "utf8").replace(MARKER, "");
}

/** The page with a report inlined as `page::render` does it. */
export function pageWith(report: WrittenReport): string {
  const template = readFileSync(new URL("../../dist/index.html", import.meta.url), "utf8");
  const json = JSON.stringify(report, shortened).replaceAll("<", "\\u003c");
  const inline = json.length <= PLAIN_MAX ? json : deflateSync(json, { level: 9 }).toString("base64");
  return template.replace(MARKER, () => inline);
}

/** Points of curves travel with five digits, as `page.rs` rounds them. */
function shortened(this: unknown, _key: string, value: unknown): unknown {
  const inCurve = Array.isArray(this) && typeof value === "number" && !Number.isInteger(value);
  return inCurve ? Number(value.toPrecision(5)) : value;
}

export interface Opened {
  page: Page;
  /** What the console or the page itself complained about. */
  complaints: string[];
  /** Addresses that were asked for besides the page. */
  requests: string[];
}

export interface Look {
  colorScheme: "light" | "dark";
  width: number;
  height: number;
  /** The font of the page's texts: {@link FONT} if nothing is said. */
  font?: string;
}

/** Which fonts a machine has decides over nothing. */
const FONT = "Liberation Sans";

/** Only a browser that does not work takes longer, however busy the machine is. */
const PATIENCE_MS = 120_000;

/** A browser, started when it is needed first, and the files it opens; both gone after `close`. */
export class Browser {
  readonly directory = mkdtempSync(join(tmpdir(), "dyno-page-"));
  readonly #executable: string;
  #chromium: Promise<Chromium> | undefined;
  readonly #contexts: BrowserContext[] = [];
  #opened = 0;

  constructor(executable: string) {
    this.#executable = executable;
  }

  /** Opens HTML from disk, a file that is there already, or an address of this machine, as a browser of its own would. */
  async open(source: { html: string } | { file: string } | { url: string }, look: Look): Promise<Opened> {
    this.#chromium ??= chromium.launch({
      executablePath: this.#executable,
      headless: true,
      timeout: PATIENCE_MS,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
    const context = await (await this.#chromium).newContext({
      viewport: { width: look.width, height: look.height },
      colorScheme: look.colorScheme,
      // Where something is, is where it stays.
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(PATIENCE_MS);
    this.#contexts.push(context);
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    const address = this.#addressOf(source);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (request.url() !== address && !request.url().startsWith("data:")) requests.push(request.url());
    });
    await page.addInitScript((font) => {
      const name = () => document.documentElement?.style.setProperty("--sans", `"${font}"`);
      new MutationObserver(name).observe(document, { childList: true });
    }, look.font ?? FONT);
    await page.goto(address);
    return { page, complaints, requests };
  }

  #addressOf(source: { html: string } | { file: string } | { url: string }): string {
    if ("url" in source) return source.url;
    if ("file" in source) return pathToFileURL(source.file).href;
    this.#opened += 1;
    const file = join(this.directory, `page-${this.#opened}.html`);
    writeFileSync(file, source.html);
    return pathToFileURL(file).href;
  }

  /** Closes what is open. */
  async leave(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close();
  }

  async close(): Promise<void> {
    await this.leave();
    await (await this.#chromium)?.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
