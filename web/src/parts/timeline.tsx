import { memo, useMemo } from "react";

import { duration } from "../format";
import { useAnswer } from "../live";
import { shortened } from "../names";
import { criticalPath } from "../steps";
import type { Placed } from "../steps";
import { ticks, tickWords } from "../ticks";
import { readyAt, stretches, waits } from "../timeline_bars";
import type { Stretch } from "../timeline_bars";
import type { Bar, RunDetail } from "../types";
import { VirtualList } from "./virtual_list";

interface Props {
  run: RunDetail;
  placed: readonly Placed[];
  path: string;
  now: number;
  chosen: string | null;
  onChoose: (path: string) => void;
}

const ROW = 30;
const NARROW = 700;

/** A row for each step that has started: a bar for each attempt, a hatched line for each wait. */
export function Timeline({ run, placed, path, now, chosen, onChoose }: Props) {
  const { found } = useAnswer<{ bars: Bar[] }>(`${path}/timeline`, run.resourceVersion);
  const bars = useMemo(() => {
    const byStep = new Map<string, Bar[]>();
    for (const bar of found?.bars ?? []) byStep.set(bar.step, [...(byStep.get(bar.step) ?? []), bar]);
    return byStep;
  }, [found]);
  const critical = useMemo(() => criticalPath(run.steps), [run.steps]);
  const labels = useMemo(
    () =>
      shortened(
        placed.map((item) => item.step.name),
        window.innerWidth < NARROW ? 12 : 26,
      ),
    [placed],
  );
  const started = placed.filter((entry) => entry.step.startedAt);
  const waiting = placed.length - started.length;
  if (!started.length)
    return <p className="quiet padded">No step has started yet. The list shows what each step waits for.</p>;
  let first = run.startedAt ? Date.parse(run.startedAt) : Infinity;
  let last = -Infinity;
  for (const { step } of started) {
    first = Math.min(first, Date.parse(step.startedAt ?? ""));
    last = Math.max(last, step.finishedAt ? Date.parse(step.finishedAt) : now);
  }
  last = Math.max(last, first + 1000);
  const length = (last - first) / 1000;
  const marks = ticks(length, window.innerWidth < NARROW ? 3 : 8);
  return (
    <div className="timeline">
      <div className="row scale" aria-hidden="true">
        <span className="under">Step</span>
        <span className="track">
          {marks.map((mark) => (
            <i key={mark} style={{ left: `${(100 * mark) / length}%` }}>
              {tickWords(mark)}
            </i>
          ))}
        </span>
        <span className="under length">Duration</span>
      </div>
      <VirtualList
        role="list"
        label="Steps over time"
        items={started}
        height={ROW}
        at={started.findIndex((element) => element.path === chosen)}
        row={(candidate) => (
          <Row
            key={candidate.path}
            placed={candidate}
            label={labels.get(candidate.step.name) ?? candidate.step.name}
            stretches={stretches(
              candidate.step,
              candidate.depth ? [] : (bars.get(candidate.step.name) ?? []),
              now,
            )}
            first={first}
            last={last}
            now={now}
            isChosen={candidate.path === chosen}
            isCritical={!candidate.depth && critical.has(candidate.step.name)}
            onChoose={onChoose}
          />
        )}
      />
      <p className="under padded legend">
        <span>
          <span className="stretch wait" aria-hidden="true" /> waiting
        </span>
        <span>
          <span className="path-mark" aria-hidden="true">
            ◆
          </span>{" "}
          critical path
        </span>
        {waiting > 0 && (
          <span>
            {waiting} {waiting === 1 ? "step has" : "steps have"} not started. The list shows why.
          </span>
        )}
      </p>
    </div>
  );
}

interface RowProps {
  placed: Placed;
  label: string;
  stretches: Stretch[];
  first: number;
  last: number;
  now: number;
  isChosen: boolean;
  isCritical: boolean;
  onChoose: (path: string) => void;
}

const Row = memo(function Row({
  placed,
  label,
  stretches: bars,
  first,
  last,
  now,
  isChosen,
  isCritical,
  onChoose,
}: RowProps) {
  const at = (moment: number) => (100 * (moment - first)) / (last - first);
  const { step, run } = placed;
  const byName = useMemo(() => new Map(run.steps.map((item) => [item.name, item])), [run.steps]);
  const waited = waits(step, bars, readyAt(step, byName, run.startedAt));
  const took = duration(step.startedAt, step.finishedAt, now);
  const words = [...waited, ...bars].map((entry) => entry.label).join("; ");
  return (
    <div role="listitem" style={{ height: ROW }}>
      <button
        type="button"
        className={`row${isChosen ? " chosen" : ""}${isCritical ? " on-path" : ""}`}
        onClick={() => onChoose(placed.path)}
      >
        <span className="name" style={{ paddingLeft: placed.depth * 14 }} title={step.name}>
          {isCritical && (
            <span className="path-mark" aria-hidden="true">
              ◆{" "}
            </span>
          )}
          {label}
        </span>
        <span className="track">
          {waited.map((element) => (
            <span
              key={element.key}
              title={element.label}
              className="stretch wait"
              style={{
                left: `${at(Math.max(first, element.from))}%`,
                width: `${at(element.to) - at(Math.max(first, element.from))}%`,
              }}
            />
          ))}
          {bars.map((bar) => (
            <span
              key={bar.key}
              title={bar.label}
              className={`stretch fill-${bar.phase}`}
              style={{ left: `${at(bar.from)}%`, width: `max(3px, ${at(bar.to) - at(bar.from)}%)` }}
            />
          ))}
        </span>
        <span className="took length">{took}</span>
        <span className="hidden">
          {` ${placed.path}: ${words}`}
          {isCritical && "; on the critical path"}
        </span>
      </button>
    </div>
  );
});
