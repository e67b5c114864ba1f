import { describe, expect, test } from "vitest";
import { readFilters, readRuns, readView, towards, type View, writeFilters, writeView } from "../src/state";

const parameters = (text: string) => new URLSearchParams(text);

describe("what a reader sees", () => {
  const view: View = {
    hidden: ["my", "run 1/pg & co"],
    span: [12.5, 80.25],
    axis: "step",
    series: "ingest",
    more: ["pressure"],
    less: ["disk", "wal"],
    log: true,
    base: "my",
  };

  test("stands in the address and comes back from it", () => {
    const address = parameters("run=A&run=B&unknown=1");
    writeView(address, view);
    expect(readView(parameters(address.toString()))).toEqual(view);
    expect(readRuns(address)).toEqual(["A", "B"]);
    expect(address.get("unknown")).toBe("1");
  });

  test("leaves no trace where nothing was chosen", () => {
    const address = parameters("run=A");
    writeView(address, readView(parameters("")));
    expect(address.toString()).toBe("run=A");
  });

  test.each([
    "5",
    "5~",
    "~5",
    "9~3",
    "3~3",
    "a~b",
    "1~2~3",
    "0~Infinity",
    "NaN~4",
  ])("has no span in %s", (span) => {
    expect(readView(new URLSearchParams({ span })).span).toBeNull();
  });

  test("knows no axis but its own", () => {
    expect(readView(parameters("axis=sideways")).axis).toBeNull();
  });
});

test("a link to other runs leaves the view of these behind, and nothing else", () => {
  const address = parameters("run=A&hide=my&span=1~2&scale=log&base=my&text=pg&pick=C&theme=dark");
  expect(towards(address, ["B", "C"]).toString()).toBe("theme=dark&run=B&run=C");
  expect(towards(address, []).toString()).toBe("theme=dark");
});

test("a run is named once, and an empty name is none", () => {
  expect(readRuns(parameters("run=A&run=&run=A&run=B"))).toEqual(["A", "B"]);
});

test("filters stand in the address while they narrow anything", () => {
  const address = parameters("");
  writeFilters(address, { ...readFilters(address), product: "MySQL", text: "a b" });
  expect(address.toString()).toBe("text=a+b&product=MySQL");
  expect(readFilters(address)).toEqual({
    text: "a b",
    target: "",
    product: "MySQL",
    workload: "",
    state: "",
  });
  writeFilters(address, { ...readFilters(address), product: "", text: "" });
  expect(address.toString()).toBe("");
});
