import { expect, test } from "vitest";
import { nameWidth } from "../src/charts/bars";

test("names of bars are whole where there is room", () => {
  expect(nameWidth(["Q1", "Q22"])).toBe("max(6ch, min(6ch, 40%))");
  expect(nameWidth(["top-100", "count-by-branch (2 workers)"])).toBe("max(17ch, min(30ch, 40%))");
  expect(nameWidth(["x".repeat(200)])).toBe("max(17ch, min(43ch, 40%))");
});
