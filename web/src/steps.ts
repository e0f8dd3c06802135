/** What can be said about the steps of a run without asking anybody: which decide, which follow, which look alike. Pure. */

import type { AnyPhase, RunDetail, Step } from "./types";

export function isOver(run: { phase: string }): boolean {
  return run.phase === "Succeeded" || run.phase === "Failed" || run.phase === "Cancelled";
}

export function isStarted(step: Step): boolean {
  return step.phase === "Running" || step.phase === "Retrying" || (step.phase === "Pending" && step.attempt > 0);
}

/** The chain of steps that decided when the run ended, or has decided so far. */
export function criticalPath(steps: readonly Step[]): Set<string> {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const path = new Set<string>();
  let at = latest(steps);
  while (at && !path.has(at.name)) {
    path.add(at.name);
    at = latest(at.dependsOn.flatMap((need) => byName.get(need) ?? []));
  }
  return path;
}

function latest(steps: readonly Step[]): Step | undefined {
  let found: Step | undefined;
  for (const step of steps) {
    if (step.startedAt && (!found || end(step) > end(found))) found = step;
  }
  return found;
}

function end(step: Step): number {
  return step.finishedAt ? Date.parse(step.finishedAt) : Number.MAX_SAFE_INTEGER;
}

/** By name, the steps that name it as a need, in list order. */
export function dependents(steps: readonly Step[]): Map<string, string[]> {
  const found = new Map<string, string[]>(steps.map((step) => [step.name, []]));
  for (const step of steps) for (const need of step.dependsOn) found.get(need)?.push(step.name);
  return found;
}

/** What a retry repeats: what did not succeed, or one step, and all that follows from either. */
export function repeated(steps: readonly Step[], from: string | null): string[] {
  const after = dependents(steps);
  const found = new Set<string>();
  const waiting = from ? [from] : steps.filter((step) => step.phase !== "Succeeded").map((step) => step.name);
  while (waiting.length) {
    const name = waiting.pop() as string;
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...(after.get(name) ?? []));
  }
  return steps.filter((step) => found.has(step.name)).map((step) => step.name);
}

/** How far from the roots each step is. */
export function depths(steps: readonly { name: string; dependsOn: readonly string[] }[]): Map<string, number> {
  const needs = new Map(steps.map((step) => [step.name, step.dependsOn]));
  const found = new Map<string, number>();
  for (const step of steps) {
    // By hand, not by recursion: a chain may be ten thousand long.
    const stack = [step.name];
    while (stack.length) {
      const name = stack[stack.length - 1] as string;
      const open = (needs.get(name) ?? []).filter((need) => needs.has(need) && !found.has(need));
      if (open.length && stack.length <= steps.length) stack.push(...open);
      else {
        const before = (needs.get(name) ?? []).map((need) => found.get(need) ?? -1);
        found.set(name, before.reduce((most, each) => Math.max(most, each), -1) + 1);
        stack.pop();
      }
    }
  }
  return found;
}

const STACKED_FROM = 60;
const SMALLEST_STACK = 6;

/** Steps that need the same and are needed by the same, in a big run: they are drawn as one until somebody opens them. */
export function stacks(steps: readonly Step[]): string[][] {
  if (steps.length <= STACKED_FROM) return [];
  const after = dependents(steps);
  const alike = new Map<string, string[]>();
  for (const step of steps) {
    const key = `${[...step.dependsOn].sort().join(",")}>${[...(after.get(step.name) ?? [])].sort().join(",")}`;
    const known = alike.get(key);
    if (known) known.push(step.name);
    else alike.set(key, [step.name]);
  }
  return [...alike.values()].filter((each) => each.length >= SMALLEST_STACK);
}

const LOUDEST: readonly AnyPhase[] = ["Failed", "Running", "Retrying", "Cancelled", "Pending", "Succeeded", "Skipped"];

/** What a crowd of steps is, in one word: the one that somebody should look at first. */
export function loudest(phases: readonly AnyPhase[]): AnyPhase {
  return LOUDEST.find((phase) => phases.includes(phase)) ?? "Pending";
}

export function counted(steps: readonly Step[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const step of steps) {
    const name = step.phase.toLowerCase();
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}

/** What names have in common at their beginning, cut at a word. */
export function sharedName(names: readonly string[]): string {
  const first = names[0] ?? "";
  let length = first.length;
  for (const name of names) {
    while (!name.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length).replace(/[-_.\d]+$/, "");
}

export interface Placed {
  /** `outer/inner` for a step of a nested run. */
  path: string;
  depth: number;
  step: Step;
  run: RunDetail;
}

/** All steps in list order, those of opened nested runs below their step. */
export function flattened(run: RunDetail, nested: ReadonlyMap<string, RunDetail>, before = ""): Placed[] {
  return run.steps.flatMap((step) => {
    const path = before + step.name;
    const inner = nested.get(path);
    const own = { path, depth: before ? before.split("/").length - 1 : 0, step, run };
    return inner ? [own, ...flattened(inner, nested, `${path}/`)] : [own];
  });
}
