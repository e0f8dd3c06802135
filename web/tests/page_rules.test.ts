import { describe, expect, it } from "vitest";

import { checked, given, nameError } from "../src/form_checks";
import { layout } from "../src/graph_layout";
import { commandLine, noteServerTime, serverNow } from "../src/instance";
import { merged, silence } from "../src/live";
import { middle, shortened } from "../src/names";
import { panelWidth } from "../src/panel_width";
import { retentionText } from "../src/retention_text";
import { describeCounts, criticalPath, ordered, repeated, shortCounts } from "../src/steps";
import type { Placed } from "../src/steps";
import { ticks, tickWords } from "../src/ticks";
import { readyAt, stretches, waits } from "../src/timeline_bars";
import type { Run, RunDetail, Step } from "../src/types";
import { centered, extent, fits, fitted, held, overview, places, READABLE, revealed } from "../src/viewport";
import { matches, NO_FILTERS } from "../src/live";

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

const ran = (name: string, needs: string[], from: number, to: number, more: Partial<Step> = {}): Step =>
  step(name, needs, { startedAt: at(from), finishedAt: at(to), phase: "Succeeded", attempt: 1, ...more });

describe("C1: the age of the data", () => {
  it("is the time since the last message, and determines the live state", () => {
    const connection = { heardAt: NOON, patience: 2500 };
    expect(silence(connection, NOON + 1000)).toEqual({ isLive: true, age: 1000 });
    expect(silence(connection, NOON + 2501)).toEqual({ isLive: false, age: 2501 });
    expect(silence(connection, NOON + 50_000).age).toBe(50_000);
  });
  it("is unknown before the first message", () => {
    expect(silence({ heardAt: null, patience: 2500 }, NOON)).toEqual({ isLive: false, age: null });
  });
  it("uses the server's clock if it differs from the computer's", () => {
    noteServerTime(Date.now() + 60_000);
    expect(Math.abs(serverNow() - Date.now() - 60_000)).toBeLessThan(1000);
    noteServerTime(Date.now() + 500);
    expect(Math.abs(serverNow() - Date.now())).toBeLessThan(200);
  });
});

describe("C2: names", () => {
  it("are shortened in the middle", () => {
    expect(middle("short", 10)).toBe("short");
    expect(middle("process-customer-records-region-001", 17)).toBe("process-…gion-001");
    expect(middle("process-customer-records-region-001", 17)).toHaveLength(17);
  });
  it("stay distinguishable wherever the difference is", () => {
    const ends = Array.from(
      { length: 60 },
      (_, n) => `process-customer-records-region-${String(n).padStart(3, "0")}`,
    );
    const middles = Array.from(
      { length: 60 },
      (_, n) => `process-customer-region-${String(n).padStart(3, "0")}-records-into-warehouse`,
    );
    for (const names of [ends, middles]) {
      for (const max of [8, 12, 17, 24]) {
        const shown = [...shortened(names, max).values()];
        expect(new Set(shown).size).toBe(60);
        expect(Math.max(...shown.map((item) => item.length))).toBeLessThanOrEqual(max);
      }
    }
  });
});

describe("C2, C6: the graph on the screen", () => {
  const room = { width: 1280, height: 600 };
  it("is never too small to read, and starts at its root", () => {
    const view = fitted({ width: 9000, height: 3000 }, { x: 10, y: 1400, width: 240, height: 54 }, room, 1.1);
    expect(view.zoom).toBe(READABLE);
    expect(view.x).toBe(24);
    const top = 1400 * view.zoom + view.y;
    expect(top).toBeGreaterThan(0);
    expect(top).toBeLessThan(room.height);
  });
  it("is centered if all of it is readable", () => {
    const view = fitted({ width: 400, height: 100 }, undefined, room, 1.1);
    expect(view).toEqual({ x: (1280 - 440) / 2, y: (600 - 110) / 2, zoom: 1.1 });
    expect(fits({ width: 400, height: 100 }, room)).toBe(true);
    expect(fits({ width: 9000, height: 100 }, room)).toBe(false);
  });
  it("does not move for a visible step, and moves as little as possible for another", () => {
    const view = { x: 0, y: 0, zoom: 1 };
    expect(revealed(view, { x: 100, y: 100, width: 240, height: 54 }, room)).toBe(view);
    expect(revealed(view, { x: 1200, y: 100, width: 240, height: 54 }, room)).toEqual({
      x: -184,
      y: 0,
      zoom: 1,
    });
    expect(centered({ x: 0, y: 0, width: 240, height: 54 }, room, 1)).toEqual({ x: 520, y: 273, zoom: 1 });
  });
  it("keeps a step in place when the layout changes", () => {
    const before = { x: 100, y: 50, width: 240, height: 54 };
    expect(held({ x: 10, y: 20, zoom: 0.5 }, before, { ...before, x: 300 })).toEqual({
      x: -90,
      y: 20,
      zoom: 0.5,
    });
  });
  it("can be shown completely", () => {
    const view = overview({ width: 12320, height: 100 }, room);
    expect(view.zoom).toBeCloseTo(0.1);
  });
  it("has the positions of boxes inside frames", () => {
    const steps = [step("plan"), ...Array.from({ length: 80 }, (_, n) => step(`part-${n}`, ["plan"]))];
    const made = layout(steps, { nested: new Map(), stacks: new Set(["~part-0"]), isTall: false });
    const where = places(made);
    const frame = where.get("~part-0")!;
    const inner = where.get("part-0")!;
    expect(inner.x).toBeGreaterThan(frame.x);
    expect(inner.y).toBeGreaterThan(frame.y);
    expect(extent(made.boxes).width).toBeGreaterThan(frame.x + frame.width - 1);
  });
});

describe("C3: retention", () => {
  it("is shown in words", () => {
    expect(retentionText(null)).toBe("forever");
    expect(retentionText(604800)).toBe("for 7 days");
    expect(retentionText(86400)).toBe("for 1 day");
    expect(retentionText(undefined)).toContain("settings");
  });
});

describe("C4: what a retry repeats", () => {
  it("is every step that did not succeed, also when it starts at a step", () => {
    const steps = [
      ran("a", [], 0, 1),
      step("b", ["a"], { phase: "Failed" }),
      ran("c", [], 0, 1),
      ran("d", ["c"], 1, 2),
    ];
    expect(repeated(steps, "c")).toEqual(["b", "c", "d"]);
    expect(repeated(steps, null)).toEqual(["b"]);
  });
});

describe("C5: nested runs", () => {
  const run = {
    name: "inner",
    parent: "outer",
    orchestration: "pair",
    phase: "Succeeded",
    createdAt: at(0),
  } as Run;
  it("are listed on request", () => {
    expect(matches(run, NO_FILTERS, NOON)).toBe(false);
    expect(matches(run, { ...NO_FILTERS, nested: true, orchestration: "pair" }, NOON)).toBe(true);
  });
});

describe("C8: a form", () => {
  it("reports the problem of each field in plain words", () => {
    const parameters = [
      { name: "words", required: true },
      { name: "tone", required: true, enum: ["kind"] },
      { name: "rest" },
    ];
    expect(checked(parameters, {}, "Bad Name")).toEqual({
      "parameters.words": "Enter a value.",
      "parameters.tone": "Choose a value.",
      name: "Use lower-case letters only.",
    });
    expect(checked(parameters, { words: "x", tone: "kind" }, "")).toEqual({});
    expect(nameError("a_b")).toContain("only lower-case letters, digits");
    expect(nameError("-a")).toContain("Start and end");
    expect(nameError("a".repeat(254))).toContain("253");
    expect(given({ a: "", b: "x" })).toEqual({ b: "x" });
  });
});

describe("C9: a failed run", () => {
  const steps = [
    ran("a", [], 0, 1),
    ran("b", ["a"], 1, 3, { phase: "Failed" }),
    step("c", ["b"], { phase: "Skipped" }),
    ran("long", [], 0, 9),
    ran("forgiven", [], 0, 12, { phase: "Failed", failureIgnored: true }),
  ];
  it("has a critical path through the failure", () => {
    expect([...criticalPath(steps)]).toEqual(["b", "a"]);
  });
  it("has counts of failed and skipped steps", () => {
    const counts = { total: 60, succeeded: 38, failed: 1, skipped: 21, ignored: 0, running: 0 };
    expect(describeCounts(counts)).toBe("38 succeeded, 1 failed, 21 skipped");
    expect(shortCounts(counts, 60, 60)).toBe("✓38 ✕1 ⤼21");
    expect(shortCounts({ succeeded: 3, running: 1 }, 7, 3)).toBe("3/7");
    expect(describeCounts({ ignored: 2 })).toBe("2 failed (ignored)");
  });
});

describe("C12: the timeline", () => {
  it("has ticks at round times", () => {
    expect(ticks(7)).toEqual([0, 2, 4, 6]);
    expect(ticks(0.9)).toEqual([0, 0.2, 0.4, 0.6, 0.8]);
    expect(ticks(35)).toEqual([0, 10, 20, 30]);
    expect(ticks(400)).toEqual([0, 120, 240, 360]);
    expect(ticks(7200).map(tickWords)).toEqual(["0", "20m", "40m", "1h", "1h 20m", "1h 40m", "2h"]);
    expect(tickWords(0.5)).toBe("0.5s");
    expect(tickWords(90000)).toBe("1d 1h");
  });
  it("shows how long a step waited", () => {
    const a = ran("a", [], 2, 4);
    const b = ran("b", ["a"], 7, 9);
    const all = new Map([a, b].map((item) => [item.name, item]));
    expect(readyAt(a, all, at(0))).toBe(NOON);
    expect(readyAt(b, all, at(0))).toBe(NOON + 4000);
    expect(waits(b, stretches(b, [], NOON), NOON + 4000)).toMatchObject([
      { from: NOON + 4000, to: NOON + 7000, label: "waited 3.0s before it started" },
    ]);
    expect(waits(a, stretches(a, [], NOON), NOON + 2000)).toEqual([]);
  });
  it("shows the wait before another attempt, and none for a reused step", () => {
    const tried = ran("a", [], 0, 9, {
      attempt: 2,
      attempts: [
        {
          attempt: 1,
          phase: "Failed",
          reason: "",
          message: "",
          startedAt: at(0),
          finishedAt: at(2),
          exitCode: 1,
        },
      ],
    });
    const bar = {
      step: "a",
      attempt: 2,
      phase: "Succeeded",
      reason: "",
      startedAt: at(5),
      finishedAt: at(9),
    } as const;
    const first = {
      step: "a",
      attempt: 1,
      phase: "Failed",
      reason: "",
      startedAt: at(0),
      finishedAt: at(2),
    } as const;
    expect(waits(tried, stretches(tried, [first, bar], NOON), NOON)).toMatchObject([
      { from: NOON + 2000, to: NOON + 5000 },
    ]);
    const kept = ran("a", [], 5, 5, { reason: "Reused" });
    expect(waits(kept, stretches(kept, [], NOON), NOON)).toEqual([]);
  });
});

describe("C12: the list", () => {
  const placed = (path: string, depth: number, made: Step) => ({ path, depth, step: made }) as Placed;
  const rows = [
    placed("b", 0, ran("b", [], 0, 5)),
    placed("b/z", 1, ran("z", [], 0, 1)),
    placed("b/y", 1, ran("y", [], 0, 2)),
    placed("a10", 0, step("a10")),
    placed("a9", 0, ran("a9", [], 0, 2, { phase: "Failed" })),
  ];
  const paths = (sort: Parameters<typeof ordered>[1], isDown = false) =>
    ordered(rows, sort, isDown, NOON).map((item) => item.path);
  it("is sorted, with nested steps below their parent", () => {
    expect(paths("order")).toEqual(["b", "b/z", "b/y", "a10", "a9"]);
    expect(paths("name")).toEqual(["a9", "a10", "b", "b/y", "b/z"]);
    expect(paths("duration", true)).toEqual(["b", "b/y", "b/z", "a9", "a10"]);
    expect(paths("phase")[0]).toBe("a9");
  });
});

describe("C12: the panel", () => {
  it("keeps the chosen width, and leaves space for the view", () => {
    expect(panelWidth(500, 1280)).toBe(500);
    expect(panelWidth(10, 1280)).toBe(320);
    expect(panelWidth(5000, 1280)).toBe(960);
  });
});

describe("B9: commands", () => {
  it("name the data directory if it is not the default", () => {
    expect(commandLine("jangar list", "jangar")).toBe("jangar list");
    expect(commandLine("jangar list", "jangar --data-dir /srv/j")).toBe("jangar list --data-dir /srv/j");
    expect(commandLine("jangar list", "JANGAR_DATA_DIR=/srv/j jangar")).toBe(
      "JANGAR_DATA_DIR=/srv/j jangar list",
    );
    expect(commandLine("kubectl get pods", "jangar --data-dir /srv/j")).toBe("kubectl get pods");
  });
});

describe("a change of a run", () => {
  const detail = (...steps: Step[]) => ({ phase: "Running", steps }) as unknown as RunDetail;

  it("adds the steps of a run that was read before it started", () => {
    expect(merged(detail(), detail(step("first"), step("second"))).steps.map((item) => item.name)).toEqual([
      "first",
      "second",
    ]);
  });

  it("replaces its steps and keeps the others unchanged", () => {
    const known = detail(step("first"), step("second"));
    const next = merged(known, detail(step("second", [], { phase: "Running" })));
    expect(next.steps.map((entry) => entry.phase)).toEqual(["Pending", "Running"]);
    expect(next.steps[0]).toBe(known.steps[0]);
  });
});
