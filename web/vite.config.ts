// Builds the page to one HTML file: script and style stand in it, and a content security policy names both by
// their hash and allows nothing else but the API that the page was served with; a page from disk asks for nothing.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

/** Where `dyno` puts the report; it must occur once in the built page. */
const MARKER = '"__DYNO_REPORT__"';

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function oneFile(): Plugin {
  return {
    name: "one-file",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          script += file.code;
        } else if (name.endsWith(".css")) {
          style += String(file.source);
        } else {
          continue;
        }
        delete bundle[name];
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset" || script === "" || style === "") {
        throw new Error("the build left no page, script or style to join");
      }
      // The parser looks for these within a script's text whatever they mean there.
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      style = style.trim();
      const policy =
        `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; ` +
        "connect-src 'self'; base-uri 'none'; form-action 'none'";
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
        .replace(
          "</head>",
          () =>
            `<meta http-equiv="Content-Security-Policy" content="${policy}" /><style>${style}</style></head>`,
        )
        .replace("</body>", () => `<script>${script}</script></body>`);
      if (html.split(MARKER).length !== 2) {
        throw new Error(`the page must hold ${MARKER} once`);
      }
      page.source = html;
    },
  };
}

/** `npm run dev` shows the tests' synthetic report. */
function syntheticReport(): Plugin {
  return {
    name: "synthetic-report",
    apply: "serve",
    async transformIndexHtml(html, context) {
      const module = await context.server?.ssrLoadModule("/test/fixture.ts");
      const json = JSON.stringify(module?.syntheticReport()).replaceAll("<", "\\u003c");
      return html.replace(MARKER, () => json);
    },
  };
}

export default defineConfig({
  plugins: [syntheticReport(), oneFile()],
  build: {
    target: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { format: "iife" } },
  },
});
