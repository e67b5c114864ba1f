// The API of `dyno serve`, as far as the page asks it. Reading only.

import type { Comparison, Report, WrittenReport } from "../document";
import { isComparison } from "./comparison";

/** Points of each timeline that are asked for: more than a screen shows. */
const POINTS = 2000;

/** A stored run in the list. */
export interface RunEntry {
  name: string;
  /** RFC 3339; null where the run ended before its first event. */
  started_at: string | null;
  /** Null where the run goes on, or was killed: `live` tells which. */
  outcome: "complete" | "incomplete" | null;
  reason: string | null;
  /** What is stored for the list is not as it was written: nothing else but the name counts. */
  damaged?: boolean;
  seconds: number;
  command: string[];
  targets: {
    name: string;
    product: string | null;
    version: string | null;
    embedded_profile: string | null;
  }[];
  series: {
    target: string;
    series: string;
    workload: string;
    kind: string;
    clients: number;
    /** At the end, where clients were ramped. */
    clients_end: number | null;
    /** That were asked for, of an open load. */
    rate_per_s: number | null;
    rate_end_per_s: number | null;
    tps: number;
    /** Left out where the load is no query set. */
    passes?: {
      /** Null where not all queries ran. */
      total_s: number | null;
      queries: number;
      ran: number;
    };
  }[];
  /** Codes of its findings; null until it has ended, and of runs that an earlier dyno stored. */
  findings: { invalid: string[]; doubt: string[]; series_invalid?: number; series?: number } | null;
  live: boolean;
}

/** Why an answer did not come, in words for the reader. */
export class ApiError extends Error {
  readonly status: number | null;

  constructor(message: string, status: number | null) {
    super(message);
    this.status = status;
  }
}

export async function askRuns(): Promise<RunEntry[]> {
  const answer = (await ask("api/runs")) as { runs: RunEntry[] };
  return answer.runs;
}

/** As many points of a curve as the server gives. */
export const POINTS_MOST = 10_000;

export async function askReport(
  run: string,
  span: [number, number] | null = null,
  points = POINTS,
): Promise<WrittenReport> {
  const parameters = new URLSearchParams({ points: String(points) });
  if (span !== null) {
    parameters.set("from", span[0].toFixed(3));
    parameters.set("to", span[1].toFixed(3));
  }
  return (await ask(`api/runs/${encodeURIComponent(run)}`, parameters)) as WrittenReport;
}

/** Where the events of a live run come from. */
export function liveAddress(run: string): string {
  return addressOf(
    `api/runs/${encodeURIComponent(run)}/live`,
    new URLSearchParams({ points: String(POINTS) }),
  );
}

/** The comparison of all targets of these runs; null where they have nothing to compare. */
export async function askComparison(reports: Report[]): Promise<Comparison | null> {
  const parameters = new URLSearchParams();
  for (const { run, targets } of reports) {
    for (const { name } of targets)
      parameters.append("side", targets.length > 1 ? `${run.name}:${name}` : run.name);
  }
  try {
    const answer = await ask("api/compare", parameters);
    return isComparison(answer) ? answer : null;
  } catch {
    return null;
  }
}

function addressOf(path: string, parameters: URLSearchParams): string {
  const query = parameters.toString();
  return query === "" ? path : `${path}?${query}`;
}

async function ask(path: string, parameters = new URLSearchParams()): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(addressOf(path, parameters), {
      headers: { accept: "application/json" },
      cache: "no-store",
    });
  } catch {
    throw new ApiError("dyno serve does not answer", null);
  }
  if (!response.ok) {
    throw new ApiError(await whyNot(response), response.status);
  }
  return await response.json();
}

/** An answer that is none says why, as JSON: `{"error": "…"}`. */
async function whyNot(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error?: unknown };
    if (typeof error === "string") return `dyno serve: ${error}`;
  } catch {
    // Something between answered.
  }
  return `dyno serve answered ${response.status}`;
}
