import { describeCounts, counted } from "../steps";
import type { Shown } from "./graph_nodes";
import { PhaseBadge } from "./phase";

export interface HintPlace {
  left: number;
  top: number;
  bottom: number;
}

/** Why the step under the pointer is as it is. */
export function Hint({ shown, at }: { shown: Shown; at: HintPlace }) {
  const isLow = at.bottom > window.innerHeight - 140;
  const style = {
    left: Math.max(8, Math.min(at.left, window.innerWidth - 348)),
    ...(isLow ? { bottom: window.innerHeight - at.top + 8 } : { top: at.bottom + 8 }),
  };
  const { step, members, box } = shown;
  return (
    <div className="hint" style={style} role="tooltip">
      <div className="hint-head">
        <b>{box.name}</b>
        {shown.phase !== "Defined" && <PhaseBadge phase={shown.phase} />}
      </div>
      {step?.reason && step.reason !== step.phase && <p className="under">{step.reason}</p>}
      {step?.sentence && <p>{step.sentence}</p>}
      {members.length > 0 && box.what === "stack" && (
        <p>
          {shown.phase === "Defined" ? `${members.length} steps` : describeCounts(counted(members))}. Select
          it to see each step.
        </p>
      )}
      {shown.isCritical && (
        <p className="under">◆ on the critical path: it decided when the run ended, or decides it now</p>
      )}
    </div>
  );
}
