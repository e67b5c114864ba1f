// Entry of the page as a file: the report stands in the page itself.

import "uplot/dist/uPlot.min.css";
import "./style/page.css";
import type { Report } from "./document";
import { ReportPage } from "./page";
import { restoreTheme } from "./theme";

restoreTheme();
const root = document.getElementById("page");
const source = document.getElementById("report")?.textContent;
if (root !== null && source) {
  new ReportPage(root).show(JSON.parse(source) as Report);
}
