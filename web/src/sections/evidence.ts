// The evidence, last: settings, data, preparation, hardware, how the run was called, checks, notices.

import type { Data, Host, PrepareStep, Report, Run, Setting, Settings, Target } from "../document";
import { type Child, el, facts, icon, orUnknown, section, table, timeOf } from "../dom";
import { bytes, cores, count, duration, estimated, plain, setting, short } from "../format";
import { kindText } from "../reading";
import { type Lane, sceneOf } from "../scene";
import { verdict } from "./findings";

export function settingsSection(report: Report): HTMLElement | null {
  const parts = report.settings.flatMap((settings) => {
    const table = settingsTable(report, settings);
    return report.targets.length > 1 && table.length > 0 ? [el("h3", {}, settings.target), ...table] : table;
  });
  return parts.length === 0 ? null : section("settings", "Settings", ...parts);
}

function settingsTable(report: Report, settings: Settings): HTMLElement[] {
  if (settings.rows.length === 0) return [];
  const rank = (row: Setting) => (row.durability ? 0 : 1);
  const rows = settings.rows
    .toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
    .map((row) => ({
      cells: [
        el("code", {}, row.name),
        el("span", { class: row.changed ? "changed" : undefined }, setting(row.value, row.unit)),
        row.default === null ? orUnknown(null) : setting(row.default, row.unit),
        row.changed ? "changed" : "default",
        row.durability ? el("span", { class: "kind" }, icon("shield"), "durability") : "",
        orUnknown(row.source),
      ],
    }));
  const whose = report.targets.length > 1 ? ` of ${settings.target}` : "";
  const columns = ["Setting", "Value", "Default", "State", "Decides", "Source"].map((label) => ({ label }));
  return [
    table(`Settings${whose} that differ from the default, and all that decide on durability`, columns, rows),
  ];
}

export function dataSection(report: Report): HTMLElement | null {
  if (report.found.length === 0 && report.prepare.length === 0) return null;
  const { lanes } = sceneOf([report]);
  return section(
    "data",
    "Data before the load",
    el(
      "div",
      { class: "columns" },
      ...report.found.map((data) => dataPart(data, lanes)),
      ...prepareParts(report),
    ),
  );
}

function dataPart(data: Data, lanes: Lane[]): HTMLElement {
  // Not every workload has a scale; its tables have rows.
  const scale = data.scale === null ? "" : `, scale ${plain(data.scale)}`;
  const whose = lanes.length > 1 ? `${data.target}: ` : "";
  const part = el(
    "div",
    {},
    el("h3", {}, `${whose}${data.workload}${scale}`),
    sizes(data),
    table(
      `Tables of ${data.workload} on ${data.target}`,
      [
        { label: "Table" },
        ...["Rows", "Table", "Indexes"].map((label) => ({ label, figures: true })),
        { label: "Crash" },
      ],
      data.tables.map((one) => ({
        cells: [
          el("code", {}, one.name),
          orUnknown(one.rows === null ? null : estimated(count(one.rows), one.rows_counted === true)),
          orUnknown(bytes(one.table_bytes)),
          orUnknown(bytes(one.index_bytes)),
          one.logged === null
            ? orUnknown(null)
            : one.logged
              ? "kept (logged)"
              : el("strong", {}, "lost (unlogged)"),
        ],
      })),
    ),
  );
  const lane = lanes.find(({ target }) => target.name === data.target);
  if (lane !== undefined) part.style.setProperty("--own", `var(--${lane.colour})`);
  return part;
}

/** Null where the size of one of them is not known. */
function tablesBytes({ tables }: Data): number | null {
  let sum = 0;
  for (const { table_bytes, index_bytes } of tables) {
    if (table_bytes === null || index_bytes === null) return null;
    sum += table_bytes + index_bytes;
  }
  return tables.length > 0 ? sum : null;
}

/** Data against what could hold it, as bars of one scale. */
function sizes(data: Data): Child {
  const parts: [string, number | null][] = [
    ["tables with indexes", tablesBytes(data)],
    ["whole database", data.database_bytes],
    ["server's cache", data.cache_bytes],
    ["memory", data.memory_bytes],
  ];
  const widest = Math.max(...parts.map(([, size]) => size ?? 0));
  return el(
    "dl",
    { class: "bars" },
    parts.map(([label, size]) =>
      el("div", {}, el("dt", {}, label), el("dd", {}, bar(size, widest), orUnknown(bytes(size)))),
    ),
  );
}

function bar(value: number | null, widest: number): Child {
  if (value === null || widest <= 0) return null;
  const strip = el("span", { class: "bar", "aria-hidden": "true" });
  strip.style.width = `${(value / widest) * 60}%`;
  return strip;
}

function prepareParts(report: Report): HTMLElement[] {
  const groups = Map.groupBy(report.prepare, (step) => `${step.workload} on ${step.target}`);
  return [...groups].map(([name, steps]) => {
    const total = steps.reduce((sum, step) => sum + step.seconds, 0);
    return el(
      "div",
      {},
      el(
        "h3",
        {},
        `${report.targets.length > 1 ? `${steps[0]?.target}: prepared` : "Prepared"} in ${duration(total)}`,
      ),
      table(
        `Steps of the preparation of ${name}`,
        [
          { label: "Step" },
          ...["Time", "Rows", "Bytes", "Rows/s"].map((label) => ({ label, figures: true })),
        ],
        steps.map((step) => ({ cells: prepareCells(step) })),
      ),
    );
  });
}

function prepareCells(step: PrepareStep): Child[] {
  const rate = step.rows !== null && step.seconds > 0 ? short(step.rows / step.seconds) : "";
  return [
    step.step,
    duration(step.seconds),
    step.rows === null ? "" : count(step.rows),
    step.bytes === null ? "" : bytes(step.bytes),
    rate,
  ];
}

export function hardwareSection(report: Report): HTMLElement {
  const parts = [...report.targets.map(targetFacts), ...report.hosts.map(hostFacts)];
  return section(
    "hardware",
    "Server and hardware",
    parts.length > 0
      ? el("div", { class: "columns" }, parts)
      : el("p", { class: "nothing" }, orUnknown(null)),
  );
}

function targetFacts(target: Target): HTMLElement {
  const pairs: [string, Child][] = [
    ["product", orUnknown(target.product)],
    ["version", orUnknown(target.version)],
    ["it says", orUnknown(target.version_text)],
    ["address", target.url],
    ["encryption", target.tls ?? "none"],
    [
      "its host is read from",
      target.host_source ?? el("span", { class: "unknown" }, "nowhere: CPU, memory and disks are unknown"),
    ],
    ["connections allowed", orUnknown(count(target.connections_max))],
    [
      "driver on the same host",
      orUnknown(target.same_host === null ? null : target.same_host ? "yes" : "no"),
    ],
  ];
  if (target.embedded !== null) {
    const { profile, source, unsafe_profile } = target.embedded;
    pairs.push(
      ["started by dyno", `${profile} profile${unsafe_profile ? ", UNSAFE" : ""}`],
      ["binaries", source],
    );
  }
  return el("div", {}, el("h3", {}, `Target ${target.name}`), facts(pairs));
}

function hostFacts(host: Host): HTMLElement {
  const disk = [host.disk_kind, host.disk_model].filter((part) => part !== null).join(", ");
  return el(
    "div",
    {},
    el("h3", {}, `Host of ${host.roles.join(" and ") || "unknown"}`),
    facts([
      ["name", orUnknown(host.hostname)],
      ["CPU", orUnknown(host.cpu_model)],
      ["processors", orUnknown(count(host.cpus))],
      ["processors allowed", host.cpus_limit === null ? "no limit" : cores(host.cpus_limit)],
      ["memory", orUnknown(bytes(host.memory_bytes))],
      ["memory allowed", host.memory_limit_bytes === null ? "no limit" : bytes(host.memory_limit_bytes)],
      ["disk of the data", orUnknown(disk === "" ? null : disk)],
      ["file system", orUnknown(host.filesystem)],
      ["operating system", orUnknown(host.os)],
      ["kernel", orUnknown(host.kernel)],
      ["virtualisation", host.virtualization ?? "none seen"],
      ["CPU governor", orUnknown(host.cpu_governor)],
      ["transparent huge pages", orUnknown(host.transparent_hugepages)],
    ]),
  );
}

export function runSection(report: Report): HTMLElement {
  const { run } = report;
  return section(
    "run",
    "How it was run",
    el("pre", { class: "command", tabindex: 0, "aria-label": "Command line" }, commandLine(run)),
    facts([
      ["dyno", run.dyno_version],
      ["run", run.name],
      ["started", timeOf(run.started_at)],
      ["took", duration(run.seconds)],
      ["seed", String(run.seed)],
    ]),
    run.spec !== null &&
      el(
        "details",
        {},
        el("summary", {}, "What was to be run, as `dyno plan --json` writes it"),
        el("pre", { tabindex: 0, "aria-label": "Specification" }, JSON.stringify(run.spec, null, 2)),
      ),
  );
}

/** As a shell would take it again. */
export function commandLine({ command }: Run): string {
  const quoted = (word: string) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
  return command.map(quoted).join(" ");
}

export function checksSection(report: Report): HTMLElement | null {
  if (report.checks.length === 0) return null;
  return section(
    "checks",
    "Checks",
    table(
      "Checks of the workload's own invariants",
      [
        { label: "Check" },
        { label: "Verdict" },
        { label: "Expected", figures: true },
        { label: "Found", figures: true },
        { label: "What it says" },
      ],
      report.checks.map((check) => ({
        cells: [
          el("code", {}, check.name),
          verdict(check),
          orUnknown(check.expected),
          orUnknown(check.found),
          check.detail,
        ],
      })),
    ),
  );
}

export function noticesSection(report: Report): HTMLElement | null {
  if (report.notices.length === 0) return null;
  const items = report.notices.map((notice) => {
    const stage = report.stages.find((candidate) => candidate.id === notice.stage);
    const about = [
      report.targets.length > 1 ? notice.target : null,
      stage === undefined ? null : `${stage.series} · ${kindText(stage)} · ${count(stage.clients)} clients`,
    ].filter((part) => part !== null);
    return el("li", {}, about.length > 0 && el("span", { class: "about" }, about.join(" · ")), notice.text);
  });
  return section("notices", "Notices", el("ul", { class: "notices" }, items));
}
