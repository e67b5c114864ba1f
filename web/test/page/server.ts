// Serves the page and the API of `dyno serve` from synthetic documents, for the tests of the page alone: what the real
// server answers is tested where it is built.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Update, WrittenReport, WrittenTimeline } from "../../src/document";
import { servedPage } from "./built";

export class FixtureServer {
  /** Documents by run; a run that is live has listeners, too. */
  readonly runs = new Map<string, { report: WrittenReport; live: boolean }>();
  comparison: unknown = null;
  /** False to send every point, whatever is asked for. */
  thin = true;
  /** Paths with queries that were asked for, the page itself left out. */
  readonly asked: string[] = [];
  readonly #listeners = new Set<{ run: string; response: ServerResponse }>();
  readonly #server: Server = createServer((request, response) => this.#answer(request, response));
  #port = 0;

  add(report: WrittenReport, live = false): void {
    this.runs.set(report.run.name, { report, live });
  }

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(this.#port, "127.0.0.1", done));
    this.#port = (this.#server.address() as AddressInfo).port;
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** Goes away, its listeners with it; `start` brings it back at the same address. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#listeners.clear();
    await new Promise<void>((done) => this.#server.close(() => done()));
  }

  get listening(): number {
    return this.#listeners.size;
  }

  send(run: string, event: "update" | "end", data: Update | End): void {
    for (const listener of this.#listeners) {
      if (listener.run === run) listener.response.write(frame(event, data));
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (url.pathname === "/") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end(servedPage());
      return;
    }
    this.asked.push(url.pathname + url.search);
    const [, name = "", part] = /^\/api\/runs\/([^/]+)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
    const run = this.runs.get(decodeURIComponent(name));
    if (url.pathname === "/api/runs")
      json({ schema: "dyno.runs/1", runs: [...this.runs.values()].map(entry) });
    else if (url.pathname === "/api/compare" && this.comparison !== null) json(this.comparison);
    else if (run === undefined) json({ error: "there is no such run" }, 404);
    else if (part === "live") this.#listen({ ...run.report, live: run.live }, request, response);
    else json({ ...(this.thin ? thinned(run.report, url.searchParams) : run.report), live: run.live });
  }

  #listen(report: WrittenReport, request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 200\n\n");
    response.write(frame("report", report));
    const listener = { run: report.run.name, response };
    this.#listeners.add(listener);
    request.on("close", () => this.#listeners.delete(listener));
  }
}

/** How a live run ends, and where its report lies. */
interface End {
  reason: string | null;
  report: string | null;
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function entry({ report, live }: { report: WrittenReport; live: boolean }): unknown {
  return {
    name: report.run.name,
    started_at: report.run.started_at,
    outcome: live ? null : report.run.outcome,
    reason: report.run.reason,
    seconds: report.run.seconds,
    command: report.run.command,
    targets: report.targets.map(({ name, product, version }) => ({
      name,
      product,
      version,
      embedded_profile: null,
    })),
    series: report.series.map((series) => ({
      target: series.target,
      series: series.name,
      workload: series.workload,
      kind: "ladder",
      clients: series.peak?.clients ?? 0,
      clients_end: null,
      rate_per_s: null,
      rate_end_per_s: null,
      tps: series.peak?.throughput.mean ?? 0,
    })),
    findings: live ? null : codesOf(report),
    live,
  };
}

function codesOf({ findings }: WrittenReport): { invalid: string[]; doubt: string[] } {
  const codes = (wanted: string) => [
    ...new Set(findings.filter(({ severity }) => severity === wanted).map(({ code }) => code)),
  ];
  return { invalid: codes("invalid"), doubt: codes("doubt") };
}

/** Of what is in the span, every so many rows: the page is not tested for what a server leaves out. */
function thinned(report: WrittenReport, parameters: URLSearchParams): WrittenReport {
  const points = Number(parameters.get("points"));
  const from = Number(parameters.get("from") ?? Number.NEGATIVE_INFINITY);
  const to = Number(parameters.get("to") ?? Number.POSITIVE_INFINITY);
  const pick = (t: (number | null)[], columns: Record<string, unknown>): Record<string, unknown> => {
    const inside = t.flatMap((time, row) => (time !== null && time >= from && time <= to ? [row] : []));
    const stride = Math.max(1, Math.ceil(inside.length / points));
    const rows = inside.filter((_row, index) => index % stride === 0);
    const of = (value: unknown): unknown => {
      if (Array.isArray(value)) return rows.map((row) => value[row]);
      if (value === null || typeof value !== "object") return value;
      return Object.fromEntries(Object.entries(value).map(([name, column]) => [name, of(column)]));
    };
    return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, of(column)]));
  };
  const timelines = report.timelines.map(
    (timeline): WrittenTimeline => ({
      target: timeline.target,
      load: pick(timeline.load.t_s ?? [], timeline.load) as WrittenTimeline["load"],
      metrics: timeline.metrics.map((metric) => ({
        ...metric,
        ...pick(metric.t_s, { t_s: metric.t_s, values: metric.values }),
      })),
    }),
  );
  return { ...report, timelines };
}
