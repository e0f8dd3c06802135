import { describeCounts, shortCounts } from "../steps";
import type { AnyPhase } from "../types";

/** Color never stands alone: every phase has its own sign. */
export const SIGNS: Record<AnyPhase, string> = {
  Pending: "○",
  Running: "●",
  Retrying: "↻",
  Cancelling: "◐",
  Succeeded: "✓",
  Failed: "✕",
  Skipped: "⤼",
  Cancelled: "■",
  Defined: "•",
};

/** A step whose result a retry took over from the run that it retries. */
export function KeptTag() {
  return (
    <span
      className="tag"
      title="This step did not run again. The retry kept its result from the run that it retries."
    >
      kept
    </span>
  );
}

export function PhaseBadge({ phase, reason }: { phase: AnyPhase; reason?: string }) {
  const why = reason && reason !== phase ? reason : "";
  return (
    <span className={`phase phase-${phase}`} title={why || phase}>
      <span className="sign" aria-hidden="true">
        {SIGNS[phase]}
      </span>
      {phase}
    </span>
  );
}

interface ProgressProps {
  counts: Record<string, number>;
  total: number;
  ended: number;
  /** Counts in words, where there is room for them. */
  isLong?: boolean;
}

/** What failed is never too thin to be seen. */
export function Progress({ counts, total, ended, isLong = false }: ProgressProps) {
  const words = total ? describeCounts(counts) : "no steps yet";
  const parts: [string, number][] = [
    ["Failed", counts["failed"] ?? 0],
    ["Succeeded", counts["succeeded"] ?? 0],
    ["Ignored", counts["ignored"] ?? 0],
    ["Skipped", counts["skipped"] ?? 0],
    ["Cancelled", counts["cancelled"] ?? 0],
    ["Running", (counts["running"] ?? 0) + (counts["retrying"] ?? 0)],
  ];
  return (
    <span
      className="progress"
      role="progressbar"
      aria-valuenow={ended}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-label={`${ended} of ${total} steps have ended: ${words}`}
      title={words}
    >
      <span className="bar">
        {parts.map(([phase, count]) =>
          count ? (
            <span
              key={phase}
              className={`fill fill-${phase}`}
              style={{ width: `${(100 * count) / (total || 1)}%` }}
            />
          ) : null,
        )}
      </span>
      <span className="count">{isLong && total ? words : shortCounts(counts, total, ended)}</span>
    </span>
  );
}
