import { defineConfig } from "vitest/config";

/** Only a page that does not work takes longer, however busy the machine is. */
const PATIENCE_MS = 60_000;

export default defineConfig({
  test: {
    disableConsoleIntercept: true,
    projects: [
      { test: { name: "unit", include: ["test/*.test.ts"] } },
      {
        test: {
          name: "page",
          include: ["test/page/*.test.ts"],
          testTimeout: 5 * PATIENCE_MS,
          hookTimeout: 5 * PATIENCE_MS,
          expect: { poll: { timeout: PATIENCE_MS } },
        },
      },
    ],
  },
});
