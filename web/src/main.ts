// Entry of the page as a file: the report stands in the page itself.

import "./style/page.css";
import type { Report } from "./document";
import { ReportPage } from "./page";
import { restoreTheme } from "./theme";

restoreTheme();
const root = document.getElementById("page");
const source = document.getElementById("report")?.textContent;
if (root !== null && source) {
  try {
    new ReportPage(root).show(JSON.parse(source) as Report);
  } catch (error) {
    root.textContent = `This report could not be drawn (${error}). \`dyno report\` prints the same figures.`;
    throw error;
  }
}
