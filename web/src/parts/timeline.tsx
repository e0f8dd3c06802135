import { memo, useMemo } from "react";

import { span } from "../format";
import { useAnswer } from "../live";
import { criticalPath } from "../steps";
import type { Placed } from "../steps";
import type { Bar, RunDetail, Step } from "../types";
import { VirtualList } from "./virtual_list";

interface Props {
  run: RunDetail;
  placed: readonly Placed[];
  path: string;
  now: number;
  chosen: string | null;
  onChoose: (path: string) => void;
}

interface Stretch {
  key: string;
  from: number;
  to: number;
  phase: string;
  label: string;
}

/** A bar for each attempt; where one attempt ended and the next has not begun, the step waits. */
export function stretches(step: Step, bars: readonly Bar[], now: number): Stretch[] {
  const told = bars.length ? bars : guessed(step);
  return told.map((bar) => {
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

/** From what the run tells, until the timeline is there. */
function guessed(step: Step): Bar[] {
  const ended = step.attempts.flatMap((each) =>
    each.startedAt ? [{ step: step.name, ...each, startedAt: each.startedAt }] : [],
  );
  if (!step.startedAt || step.attempt <= step.attempts.length) return ended;
  const before = ended[ended.length - 1]?.finishedAt;
  const current = { attempt: step.attempt, phase: step.phase, reason: step.reason, finishedAt: step.finishedAt };
  return [...ended, { step: step.name, ...current, startedAt: before ?? step.startedAt }];
}

const MARKS = [0, 0.25, 0.5, 0.75, 1];
const ROW = 30;

/** A row for each step that began, a bar for each attempt. */
export function Timeline({ run, placed, path, now, chosen, onChoose }: Props) {
  const { found } = useAnswer<{ bars: Bar[] }>(`${path}/timeline`, run.resourceVersion);
  const bars = useMemo(() => {
    const byStep = new Map<string, Bar[]>();
    for (const bar of found?.bars ?? []) byStep.set(bar.step, [...(byStep.get(bar.step) ?? []), bar]);
    return byStep;
  }, [found]);
  const critical = useMemo(() => criticalPath(run.steps), [run.steps]);
  const began = placed.filter((each) => each.step.startedAt);
  const waiting = placed.length - began.length;
  if (!began.length) return <p className="quiet padded">No step has begun yet; the list says what each waits for.</p>;
  let first = Infinity;
  let last = -Infinity;
  for (const { step } of began) {
    first = Math.min(first, Date.parse(step.startedAt ?? ""));
    last = Math.max(last, step.finishedAt ? Date.parse(step.finishedAt) : now);
  }
  last = Math.max(last, first + 1000);
  return (
    <div className="timeline">
      <div className="row scale" aria-hidden="true">
        <span />
        <span className="track">
          {MARKS.map((mark) => (
            <i key={mark} style={{ left: `${mark * 100}%` }} className={mark === 1 ? "last" : ""}>
              {span((mark * (last - first)) / 1000)}
            </i>
          ))}
        </span>
      </div>
      <VirtualList
        role="list"
        label="Steps over time"
        items={began}
        height={ROW}
        at={began.findIndex((each) => each.path === chosen)}
        row={(each) => (
          <Row
            key={each.path}
            placed={each}
            stretches={stretches(each.step, each.depth ? [] : (bars.get(each.step.name) ?? []), now)}
            first={first}
            last={last}
            isChosen={each.path === chosen}
            isCritical={!each.depth && critical.has(each.step.name)}
            onChoose={onChoose}
          />
        )}
      />
      {waiting > 0 && (
        <p className="under padded">
          {waiting} {waiting === 1 ? "step has" : "steps have"} not begun; the list says why.
        </p>
      )}
    </div>
  );
}

interface RowProps {
  placed: Placed;
  stretches: Stretch[];
  first: number;
  last: number;
  isChosen: boolean;
  isCritical: boolean;
  onChoose: (path: string) => void;
}

const Row = memo(function Row({ placed, stretches: all, first, last, isChosen, isCritical, onChoose }: RowProps) {
  const at = (moment: number) => (100 * (moment - first)) / (last - first);
  const said = all.map((each) => each.label).join("; ");
  return (
    <div role="listitem" style={{ height: ROW }}>
      <button
        type="button"
        className={`row${isChosen ? " chosen" : ""}${isCritical ? " on-path" : ""}`}
        aria-label={`${placed.path}: ${said}`}
        onClick={() => onChoose(placed.path)}
      >
        <span className="name" style={{ paddingLeft: placed.depth * 14 }}>
          {placed.step.name}
        </span>
        <span className="track">
          {all.map((each) => (
            <span
              key={each.key}
              title={each.label}
              className={`stretch fill-${each.phase}`}
              style={{ left: `${at(each.from)}%`, width: `max(3px, ${at(each.to) - at(each.from)}%)` }}
            />
          ))}
        </span>
      </button>
    </div>
  );
});
