import type { AnyPhase } from "../types";

/** Colour never stands alone: every phase has its own sign. */
export const SIGNS: Record<AnyPhase, string> = {
  Pending: "○",
  Running: "●",
  Retrying: "↻",
  Cancelling: "◐",
  Succeeded: "✓",
  Failed: "✕",
  Skipped: "⤼",
  Cancelled: "■",
};

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
}

export function Progress({ counts, total, ended }: ProgressProps) {
  const parts: [string, number][] = [
    ["Succeeded", counts["succeeded"] ?? 0],
    ["Failed", counts["failed"] ?? 0],
    ["Skipped", (counts["skipped"] ?? 0) + (counts["ignored"] ?? 0)],
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
      aria-label={`${ended} of ${total} steps have ended`}
    >
      <span className="bar">
        {parts.map(([phase, count]) =>
          count ? (
            <span key={phase} className={`fill fill-${phase}`} style={{ width: `${(100 * count) / (total || 1)}%` }} />
          ) : null,
        )}
      </span>
      <span className="count">{total ? `${ended}/${total}` : "–"}</span>
    </span>
  );
}
