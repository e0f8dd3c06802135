/** How the runs of one orchestration went over time. Pure. */

import type { Run } from "./types";

export interface Statistics {
  ended: number;
  succeeded: number;
  failed: number;
  /** Of those that succeeded or failed; a cancel says nothing about the orchestration. */
  rate: number | null;
  /** Seconds, of the runs that succeeded. */
  median: number | null;
  p95: number | null;
}

export function seconds(run: Run, now: number): number | null {
  if (!run.startedAt) return null;
  return Math.max(0, (run.finishedAt ? Date.parse(run.finishedAt) : now) - Date.parse(run.startedAt)) / 1000;
}

export function quantile(values: readonly number[], share: number): number | null {
  if (!values.length) return null;
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? null;
}

export function statistics(runs: readonly Run[]): Statistics {
  const succeeded = runs.filter((run) => run.phase === "Succeeded");
  const failed = runs.filter((run) => run.phase === "Failed").length;
  const took = succeeded.flatMap((run) => seconds(run, 0) ?? []);
  const judged = succeeded.length + failed;
  return {
    ended: judged + runs.filter((run) => run.phase === "Cancelled").length,
    succeeded: succeeded.length,
    failed,
    rate: judged ? succeeded.length / judged : null,
    median: quantile(took, 0.5),
    p95: quantile(took, 0.95),
  };
}

/** The share that succeeded among each run and so many before it, oldest first; runs that were cancelled or run still are no opinion. */
export function rolling(oldestFirst: readonly Run[], among = 10): number[] {
  const judged = oldestFirst.filter((run) => run.phase === "Succeeded" || run.phase === "Failed");
  return judged.map((_, at) => {
    const window = judged.slice(Math.max(0, at - among + 1), at + 1);
    return window.filter((run) => run.phase === "Succeeded").length / window.length;
  });
}
