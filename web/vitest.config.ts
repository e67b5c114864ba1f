import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    disableConsoleIntercept: true,
    projects: [
      { test: { name: "unit", include: ["test/*.test.ts"] } },
      { test: { name: "page", include: ["test/page/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 } },
    ],
  },
});
