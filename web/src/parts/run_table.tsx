import { useEffect, useState } from "react";

import { age, clock, duration } from "../format";
import { isOver } from "../steps";
import type { Run } from "../types";
import { Link, runHref } from "./link";
import { PhaseBadge, Progress } from "./phase";
import { VirtualList } from "./virtual_list";

const WIDE = 48;
const NARROW = 70;

interface Props {
  runs: readonly Run[];
  now: number;
  at: number;
  picked: ReadonlySet<string>;
  onPick: (runs: readonly Run[], isPicked: boolean) => void;
  onEnd: () => void;
  /** Whether the namespace says anything. */
  hasNamespaces: boolean;
}

/** Runs, newest first; only those rows are drawn that can be seen. */
export function RunTable({ runs, now, at, picked, onPick, onEnd, hasNamespaces }: Props) {
  const isNarrow = useNarrow();
  const height = isNarrow ? NARROW : WIDE;
  const live = runs.filter((run) => !isOver(run));
  const isAll = live.length > 0 && live.every((run) => picked.has(run.uid));
  return (
    <div className="table" role="table" aria-label="Runs" aria-rowcount={runs.length + 1}>
      <div role="rowgroup">
        <div className="run head" role="row" aria-rowindex={1}>
          <span role="columnheader">
            {live.length > 0 ? (
              <input
                type="checkbox"
                aria-label="Select all running"
                title="Select all running"
                checked={isAll}
                onChange={() => onPick(live, !isAll)}
              />
            ) : (
              <span className="hidden">Select</span>
            )}
          </span>
          <span role="columnheader">Name</span>
          <span role="columnheader">Phase</span>
          <span role="columnheader">Steps</span>
          <span role="columnheader">Duration</span>
          <span role="columnheader">Created</span>
          <span role="columnheader">By</span>
          <span role="columnheader">Why</span>
        </div>
      </div>
      <VirtualList
        role="rowgroup"
        items={runs}
        height={height}
        at={at}
        onEnd={onEnd}
        row={(run, index) => (
          <div
            key={run.uid}
            className={`run${index === at ? " at" : ""}${run.live ? "" : " past"}`}
            role="row"
            aria-rowindex={index + 2}
            style={{ height }}
          >
            <span role="cell" className="pick">
              {!isOver(run) && (
                <input
                  type="checkbox"
                  aria-label={`Select ${run.name}`}
                  checked={picked.has(run.uid)}
                  onChange={() => onPick([run], !picked.has(run.uid))}
                />
              )}
            </span>
            <span role="cell" className="title">
              <Link to={runHref(run.namespace, run.name)} title={run.name}>
                {run.name}
              </Link>
              <span className="under">
                {run.parent ? `step of ${run.parent} · ` : ""}
                {run.orchestration ?? "inline definition"}
                {hasNamespaces ? ` · ${run.namespace}` : ""}
                {run.live ? "" : " · from history"}
              </span>
            </span>
            <span role="cell" className="is">
              <PhaseBadge phase={run.phase} reason={run.reason} />
              {run.suspended && !isOver(run) && <span className="tag">suspended</span>}
            </span>
            <span role="cell" className="steps">
              <Progress counts={run.counts} total={run.stepsTotal} ended={run.stepsEnded} />
            </span>
            <span role="cell" className="took">
              {duration(run.startedAt, run.finishedAt, now)}
            </span>
            <span role="cell" className="age" title={clock(run.createdAt)}>
              {age(run.createdAt, now)}
            </span>
            <span
              role="cell"
              className="by"
              title={run.createdBy ?? "Unknown: the run was applied with kubectl or jangar apply"}
            >
              {run.createdBy ?? "–"}
            </span>
            <span role="cell" className="said" title={run.message}>
              {run.reason !== run.phase && run.message ? `${run.reason}: ${run.message}` : run.message}
            </span>
          </div>
        )}
      />
    </div>
  );
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => window.innerWidth < 760);
  useEffect(() => {
    const look = () => setNarrow(window.innerWidth < 760);
    window.addEventListener("resize", look);
    return () => window.removeEventListener("resize", look);
  }, []);
  return isNarrow;
}
