// Entry of the page. A report that stands in the page itself is drawn; where there is none, the page is served by
// `dyno serve`, and asks its API.

import "./style/page.css";
import { readReport } from "./columns";
import type { WrittenReport } from "./document";
import { ReportPage } from "./page";
import { Served } from "./served/served";
import { Address } from "./state";
import { restoreTheme } from "./theme";

/** Characters of a report. */
const TEXT_KEPT_MAX = 4_000_000;

restoreTheme();
const root = document.getElementById("page");
const source = document.getElementById("report");
const text = source?.textContent?.trim() ?? "";
if (root !== null && text === "") {
  new Served(root).start();
} else if (root !== null && source !== null) {
  void draw(root, source);
}

async function draw(root: HTMLElement, source: HTMLElement): Promise<void> {
  try {
    const report = readReport(JSON.parse(await plain(text)) as WrittenReport);
    // A large text takes as much memory as the columns; a small one stays, so that the page can be saved.
    if (text.length > TEXT_KEPT_MAX) source.textContent = "";
    root.replaceChildren();
    new ReportPage(root, new Address("hash")).show([report]);
  } catch (error) {
    root.textContent = `This report could not be drawn (${error}). \`dyno report\` prints the same figures.`;
    throw error;
  }
}

/** A long report stands in the file compressed (zlib) and in base64: see `crates/dyno-report/src/page.rs`. */
async function plain(text: string): Promise<string> {
  if (text.startsWith("{")) return text;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
