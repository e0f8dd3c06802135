/** What follows from the steps of a run alone: which decide, which follow, which look alike. Pure. */

import type { AnyPhase, RunDetail, Step } from "./types";

export function isOver(run: { phase: string }): boolean {
  return run.phase === "Succeeded" || run.phase === "Failed" || run.phase === "Cancelled";
}

export function isStarted(step: Step): boolean {
  return (
    step.phase === "Running" || step.phase === "Retrying" || (step.phase === "Pending" && step.attempt > 0)
  );
}

/** The chain of steps that decided how and when the run ended, or has decided so far.

A run that has failed was decided by its last failure, whatever else ran longer.
*/
export function criticalPath(steps: readonly Step[]): Set<string> {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const path = new Set<string>();
  const failed = steps.some(isStarted)
    ? []
    : steps.filter((step) => step.phase === "Failed" && !step.failureIgnored);
  let at = latest(failed) ?? latest(steps);
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

/** What a retry repeats: what did not succeed, the step that is named, and all that depends on either. */
export function repeated(steps: readonly Step[], from: string | null): string[] {
  const after = dependents(steps);
  const found = new Set<string>();
  const waiting = steps.filter((step) => step.phase !== "Succeeded").map((step) => step.name);
  if (from) waiting.push(from);
  while (waiting.length) {
    const name = waiting.pop() as string;
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...(after.get(name) ?? []));
  }
  return steps.filter((step) => found.has(step.name)).map((step) => step.name);
}

/** How far from the roots each step is. */
export function depths(
  steps: readonly { name: string; dependsOn: readonly string[] }[],
): Map<string, number> {
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
        found.set(name, before.reduce((most, item) => Math.max(most, item), -1) + 1);
        stack.pop();
      }
    }
  }
  return found;
}

const STACKED_FROM = 60;
const SMALLEST_STACK = 6;

/** Steps that need the same and are needed by the same, in a big run: they are drawn as one until the user opens them. */
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
  return [...alike.values()].filter((item) => item.length >= SMALLEST_STACK);
}

const LOUDEST: readonly AnyPhase[] = [
  "Failed",
  "Running",
  "Retrying",
  "Cancelled",
  "Pending",
  "Succeeded",
  "Skipped",
];

/** What a crowd of steps is, in one word: the phase that matters most. */
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

const WORDS: readonly [string, string][] = [
  ["succeeded", "✓"],
  ["failed", "✕"],
  ["ignored", "!"],
  ["skipped", "⤼"],
  ["cancelled", "■"],
  ["running", "●"],
  ["retrying", "↻"],
  ["pending", "○"],
];

/** `38 succeeded, 1 failed, 21 skipped`. An ignored failure is one that `continueOnFailure` allows. */
export function describeCounts(counts: Record<string, number>): string {
  return WORDS.filter(([name]) => counts[name])
    .map(([name]) => `${counts[name]} ${name === "ignored" ? "failed (ignored)" : name}`)
    .join(", ");
}

/** The same for a table: `3/7` while all is well, else `✓38 ✕1 ⤼21`. */
export function shortCounts(counts: Record<string, number>, total: number, ended: number): string {
  if (!total) return "–";
  const isPlain = !["failed", "ignored", "skipped", "cancelled"].some((name) => counts[name]);
  if (isPlain) return `${ended}/${total}`;
  return WORDS.filter(([name]) => counts[name])
    .map(([name, sign]) => `${sign}${counts[name]}`)
    .join(" ");
}

export const SORTS = ["order", "phase", "name", "kind", "started", "duration"] as const;
export type Sort = (typeof SORTS)[number];

/** Steps in another order, those of a nested run still below their step. */
export function ordered(placed: readonly Placed[], sort: Sort, isDown: boolean, now: number): Placed[] {
  if (sort === "order" && !isDown) return [...placed];
  const groups: { head: Placed; inner: Placed[] }[] = [];
  const depth = Math.min(...placed.map((item) => item.depth));
  for (const entry of placed) {
    const last = groups[groups.length - 1];
    if (entry.depth === depth || !last) groups.push({ head: entry, inner: [] });
    else last.inner.push(entry);
  }
  const value = ({ step }: Placed): number | string | null => {
    if (sort === "phase") return LOUDEST.indexOf(step.phase);
    if (sort === "name") return step.name;
    if (sort === "kind") return step.kind;
    if (!step.startedAt) return null;
    const started = Date.parse(step.startedAt);
    return sort === "started" ? started : (step.finishedAt ? Date.parse(step.finishedAt) : now) - started;
  };
  const compare = (one: number | string | null, other: number | string | null) => {
    // What has not started is last, whichever way.
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    const by =
      typeof one === "string"
        ? one.localeCompare(String(other), "en", { numeric: true })
        : one - Number(other);
    return isDown ? -by : by;
  };
  if (sort === "order") groups.reverse();
  else groups.sort((one, other) => compare(value(one.head), value(other.head)));
  return groups.flatMap(({ head, inner }) => [
    head,
    ...(inner.length ? ordered(inner, sort, isDown, now) : []),
  ]);
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
