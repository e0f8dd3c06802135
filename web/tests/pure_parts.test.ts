import { describe, expect, it } from "vitest";

import { ansi, plain } from "../src/ansi";
import { shownValue, valueAt } from "../src/columns";
import { age, ahead, many, percent, span } from "../src/format";
import { layout } from "../src/graph_layout";
import { bound, samples, total } from "../src/metrics";
import { fields } from "../src/schema_tree";
import { quantile, rolling, statistics } from "../src/statistics";
import {
  counted,
  criticalPath,
  depths,
  flattened,
  loudest,
  repeated,
  sharedName,
  stacks,
} from "../src/steps";
import type { Run, RunDetail, Schema, Step, StepPhase } from "../src/types";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const at = (seconds: number) => new Date(NOON + seconds * 1000).toISOString();

function step(name: string, dependsOn: string[] = [], more: Partial<Step> = {}): Step {
  return {
    name,
    kind: "ToolRun",
    phase: "Pending",
    reason: "",
    sentence: "",
    attempt: 0,
    attempts: [],
    child: null,
    dependsOn,
    causes: [],
    outputs: {},
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    durationSeconds: null,
    failureIgnored: false,
    ...more,
  };
}

const ran = (name: string, needs: string[], from: number, to: number | null): Step =>
  step(name, needs, {
    startedAt: at(from),
    finishedAt: to === null ? null : at(to),
    phase: to === null ? "Running" : "Succeeded",
  });
const run = (phase: Run["phase"], seconds = 1): Run =>
  ({ phase, startedAt: at(0), finishedAt: at(seconds), name: "r", uid: `${phase}${seconds}` }) as Run;
const ofSteps = (steps: Step[]) => ({ name: "r", steps }) as RunDetail;

describe("the critical path", () => {
  it("is the chain of steps that ended last", () => {
    const steps = [ran("a", [], 0, 5), ran("b", [], 0, 2), ran("c", ["a", "b"], 5, 6), ran("d", ["b"], 2, 3)];
    expect([...criticalPath(steps)]).toEqual(["c", "a"]);
  });
  it("starts at a running step", () => {
    expect([...criticalPath([ran("a", [], 0, 9), ran("b", [], 0, null)])]).toEqual(["b"]);
  });
  it("is empty before any step started", () => {
    expect(criticalPath([step("a")]).size).toBe(0);
  });
});

describe("what a retry repeats", () => {
  const steps = [
    ran("a", [], 0, 1),
    step("b", ["a"], { phase: "Failed" }),
    step("c", ["b"], { phase: "Skipped" }),
    ran("d", ["a"], 1, 2),
  ];
  it("is every step that did not succeed, with its dependents", () => {
    expect(repeated(steps, null)).toEqual(["b", "c"]);
  });
  it("is one step with its dependents", () => {
    expect(repeated(steps, "a")).toEqual(["a", "b", "c", "d"]);
  });
});

describe("stacks", () => {
  const fan = (width: number) => [
    step("plan"),
    ...Array.from({ length: width }, (_, n) => step(`part-${n}`, ["plan"])),
    step("end", ["part-0"]),
  ];
  it("group steps with the same dependencies and dependents in a large run", () => {
    expect(stacks(fan(100)).map((stack) => stack.length)).toEqual([99]);
  });
  it("are not used in a small run", () => {
    expect(stacks(fan(20))).toEqual([]);
  });
  it("are named by the common part of the names", () => {
    expect(sharedName(["part-1", "part-22", "part-3"])).toBe("part");
    expect(sharedName(["alpha", "beta"])).toBe("");
  });
  it("have the most severe phase of their steps", () => {
    const phases: StepPhase[] = ["Succeeded", "Running", "Failed"];
    expect(loudest(phases)).toBe("Failed");
    expect(counted(phases.map((phase) => step("x", [], { phase })))).toEqual({
      succeeded: 1,
      running: 1,
      failed: 1,
    });
  });
});

describe("depths", () => {
  it("are the longest path from a root, also in a chain of ten thousand steps", () => {
    const chain = Array.from({ length: 10_000 }, (_, n) => step(`s${n}`, n ? [`s${n - 1}`] : []));
    expect(depths(chain.reverse()).get("s9999")).toBe(9999);
    expect(depths([step("c", ["a", "b"]), step("b", ["a"]), step("a")]).get("c")).toBe(2);
  });
});

describe("the layout", () => {
  const options = { nested: new Map(), stacks: new Set<string>(), isTall: false };
  it("places dependents to the right, and every step once", () => {
    const made = layout([step("a"), step("b", ["a"])], options);
    const [a, b] = made.boxes;
    expect(b!.x).toBeGreaterThan(a!.x + a!.width);
    expect(made.lines).toEqual([{ source: "a", target: "b" }]);
  });
  it("puts the steps of an opened nested run into its frame", () => {
    const nested = new Map([["a", ofSteps([step("x"), step("y", ["x"])])]]);
    const made = layout([step("a"), step("b", ["a"])], { ...options, nested });
    const frame = made.boxes.find((box) => box.id === "a")!;
    expect(frame.what).toBe("nested-frame");
    for (const id of ["a/x", "a/y"]) {
      const box = made.boxes.find((item) => item.id === id)!;
      expect(box.parent).toBe("a");
      expect(box.x + box.width).toBeLessThanOrEqual(frame.width);
      expect(box.y + box.height).toBeLessThanOrEqual(frame.height);
      expect(made.boxes.indexOf(frame)).toBeLessThan(made.boxes.indexOf(box));
    }
  });
  it("shows a thousand similar steps as one stack, and all of them when it is opened", () => {
    const steps = [
      step("plan"),
      ...Array.from({ length: 998 }, (_, n) => step(`part-${n}`, ["plan"])),
      step(
        "end",
        Array.from({ length: 998 }, (_, n) => `part-${n}`),
      ),
    ];
    const closed = layout(steps, options);
    expect(closed.boxes.length).toBe(3);
    expect(closed.shownIn.get("part-7")).toBe("~part-0");
    const open = layout(steps, { ...options, stacks: new Set(["~part-0"]) });
    expect(open.boxes.filter((box) => box.what === "step").length).toBe(1000);
  });
  it("lays out a thousand distinct steps quickly", () => {
    const steps = Array.from({ length: 1000 }, (_, n) =>
      step(`s${n}`, n >= 100 ? [`s${n - 100}`, `s${n - 100 + (n % 3 ? 1 : 0)}`] : []),
    );
    const before = performance.now();
    expect(layout(steps, options).boxes.length).toBe(1000);
    expect(performance.now() - before).toBeLessThan(5000);
  });
});

describe("a flattened run", () => {
  it("has the steps of opened nested runs below their step", () => {
    const nested = new Map([["a", ofSteps([step("x")])]]);
    const made = flattened(ofSteps([step("a"), step("b")]), nested);
    expect(made.map((item) => [item.path, item.depth])).toEqual([
      ["a", 0],
      ["a/x", 1],
      ["b", 0],
    ]);
  });
});

describe("logs", () => {
  it("keep their colors", () => {
    expect(ansi("a \u001b[1;31mred\u001b[0m b")).toEqual([
      { text: "a ", style: "" },
      { text: "red", style: "ansi-bold ansi-fg-1" },
      { text: " b", style: "" },
    ]);
  });
  it("support backgrounds, 256 colors and resets", () => {
    expect(ansi("\u001b[44;38;5;2mx\u001b[39my")).toEqual([
      { text: "x", style: "ansi-bg-4 ansi-fg-2" },
      { text: "y", style: "ansi-bg-4" },
    ]);
    expect(ansi("\u001b[38;2;1;2;3mx").map((piece) => piece.text)).toEqual(["x"]);
  });
  it("drop sequences that move the cursor or set the title", () => {
    expect(plain("\u001b[2K\u001b]0;title\u0007done\u001b[?25h")).toBe("done");
  });
  it("show the last state of a progress bar", () => {
    expect(plain("10%\r50%\r100%\r")).toBe("100%");
  });
});

describe("columns", () => {
  const object = {
    metadata: { name: "n" },
    status: { conditions: [{ type: "Ready", status: "False" }] },
    spec: { list: ["a"] },
  };
  it("resolve the JSONPaths of the kinds", () => {
    expect(valueAt(object, ".metadata.name")).toBe("n");
    expect(valueAt(object, '.status.conditions[?(@.type=="Ready")].status')).toBe("False");
    expect(valueAt(object, '.status.conditions[?(@.type=="Gone")].status')).toBeUndefined();
    expect(valueAt(object, ".spec.list[0]")).toBe("a");
    expect(shownValue(valueAt(object, ".spec.list"))).toBe('["a"]');
    expect(shownValue(undefined)).toBe("");
  });
});

describe("fields of an object", () => {
  const schema: Schema = {
    properties: {
      first: { description: "The first." },
      inner: { anyOf: [{ $ref: "#/$defs/Inner" }, { type: "null" }] },
    },
    $defs: { Inner: { description: "Inner.", properties: { deep: { description: "Deep." } } } },
  };
  it("have the schema's order and descriptions, with unknown fields last", () => {
    const made = fields({ other: 1, inner: { deep: [1, 2] }, first: "x" }, schema);
    expect(made.map((item) => [item.path, item.value, item.description, item.isKnown])).toEqual([
      ["first", "x", "The first.", true],
      ["inner", "", "Inner.", true],
      ["inner.deep", "1, 2", "Deep.", true],
      ["other", "1", "", false],
    ]);
  });
});

describe("metrics", () => {
  const all = samples(
    '# HELP x\nq{controller="a"} 2\nq{controller="b"} 3\nh_bucket{le="0.1"} 90\nh_bucket{le="1"} 99\nh_bucket{le="+Inf"} 100\nplain 4\n',
  );
  it("are parsed and summed", () => {
    expect(total(all, "q")).toBe(5);
    expect(total(all, "q", { controller: "b" })).toBe(3);
    expect(total(all, "plain")).toBe(4);
  });
  it("have quantiles from their buckets", () => {
    expect(bound(all, "h", 0.5)).toBe(0.1);
    expect(bound(all, "h", 0.95)).toBe(1);
    expect(bound(all, "none", 0.5)).toBeNull();
  });
});

describe("statistics", () => {
  it("count only succeeded and failed runs", () => {
    const summary = statistics([
      run("Succeeded", 2),
      run("Succeeded", 4),
      run("Failed", 9),
      run("Cancelled", 1),
      run("Running", 1),
    ]);
    expect(summary).toMatchObject({ ended: 4, succeeded: 2, failed: 1, rate: 2 / 3, median: 2, p95: 4 });
    expect(statistics([]).rate).toBeNull();
    expect(quantile([], 0.5)).toBeNull();
  });
  it("have the rate over time", () => {
    expect(rolling([run("Failed"), run("Cancelled"), run("Succeeded"), run("Succeeded")], 2)).toEqual([
      0, 0.5, 1,
    ]);
  });
});

describe("times", () => {
  it("are formatted for people", () => {
    expect(span(3.14)).toBe("3.1s");
    expect(span(75)).toBe("1m 15s");
    expect(age(at(-7200), NOON)).toBe("2h ago");
    expect(ahead(at(86400 * 3), NOON)).toBe("in 3d");
    expect(ahead(at(-1), NOON)).toBe("any moment");
    expect(many(1, "step")).toBe("1 step");
    expect(percent(0.999)).toBe("99%");
  });
});
