/** What a timeline draws of a step: a bar for each attempt, and how long it waited before each. Pure. */

import { span } from "./format";
import type { Bar, Step } from "./types";

export interface Stretch {
  key: string;
  from: number;
  to: number;
  phase: string;
  label: string;
}

/** A bar for each attempt; where one attempt ended and the next has not begun, the step waits. */
export function stretches(step: Step, bars: readonly Bar[], now: number): Stretch[] {
  const known = bars.length ? bars : guessed(step);
  return known.map((bar) => {
    const from = Date.parse(bar.startedAt);
    const isCurrent = bar.attempt === step.attempt && step.attempt > step.attempts.length;
    const ended = isCurrent ? step.finishedAt : bar.finishedAt;
    const to = ended ? Date.parse(ended) : now;
    const phase = isCurrent ? step.phase : bar.phase;
    const why = bar.reason && bar.reason !== phase ? ` (${bar.reason})` : "";
    return {
      key: `${bar.attempt}`,
      from,
      to: Math.max(from, to),
      phase,
      label: `attempt ${bar.attempt}: ${phase}${why}, ${span((to - from) / 1000)}`,
    };
  });
}

/** From the run itself, until the timeline is there. */
function guessed(step: Step): Bar[] {
  const ended = step.attempts.flatMap((item) =>
    item.startedAt ? [{ step: step.name, ...item, startedAt: item.startedAt }] : [],
  );
  if (!step.startedAt || step.attempt <= step.attempts.length) return ended;
  const before = ended[ended.length - 1]?.finishedAt;
  const current = {
    attempt: step.attempt,
    phase: step.phase,
    reason: step.reason,
    finishedAt: step.finishedAt,
  };
  return [...ended, { step: step.name, ...current, startedAt: before ?? step.startedAt }];
}

/** Milliseconds; a shorter wait is the scheduler's own. */
const SHORTEST = 50;

/** From when a step could have started to when it did, and from one attempt to the next. */
export function waits(step: Step, bars: readonly Stretch[], readyAt: number | null): Stretch[] {
  const found: Stretch[] = [];
  let from = readyAt;
  for (const bar of bars) {
    if (from !== null && bar.from - from > SHORTEST) {
      const why = found.length || from !== readyAt ? `before attempt ${bar.key}` : "before it started";
      const label = `waited ${span((bar.from - from) / 1000)} ${why}`;
      found.push({ key: `wait-${bar.key}`, from, to: bar.from, phase: "wait", label });
    }
    from = bar.to;
  }
  return step.reason === "Reused" ? [] : found;
}

/** When the last of what a step needs had ended; the start of the run for a step that needs nothing. */
export function readyAt(
  step: Step,
  all: ReadonlyMap<string, Step>,
  runStartedAt: string | null,
): number | null {
  const ends = step.dependsOn.map((name) => all.get(name)?.finishedAt);
  if (ends.some((end) => !end)) return null;
  const times = ends.map((item) => Date.parse(item ?? ""));
  if (times.length) return Math.max(...times);
  return runStartedAt ? Date.parse(runStartedAt) : null;
}
