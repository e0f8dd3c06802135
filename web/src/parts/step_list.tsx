import { memo, useRef } from "react";
import type { KeyboardEvent } from "react";

import { duration, many } from "../format";
import type { Placed } from "../steps";
import { CloseIcon, OpenIcon } from "./icons";
import { PhaseBadge } from "./phase";

interface Props {
  placed: readonly Placed[];
  now: number;
  chosen: string | null;
  opened: ReadonlySet<string>;
  onChoose: (path: string) => void;
  onOpen: (path: string) => void;
}

/** Every step with its sentence, in list order; arrows go from one to the next. */
export function StepList({ placed, now, chosen, opened, onChoose, onOpen }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(".step-row") ?? [])];
    const next = rows[rows.indexOf(event.target as HTMLElement) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  if (!placed.length) return <p className="quiet padded">No step is like that.</p>;
  return (
    <ul ref={list} className="step-list" aria-label={many(placed.length, "step")} onKeyDown={press}>
      {placed.map(({ path, depth, step }) => (
        <li key={path} style={depth ? { paddingLeft: depth * 22 } : undefined}>
          <Row
            path={path}
            phase={step.phase}
            reason={step.reason}
            name={step.name}
            kind={step.kind}
            sentence={step.sentence}
            attempt={step.attempt}
            took={duration(step.startedAt, step.finishedAt, now)}
            isChosen={path === chosen}
            onChoose={onChoose}
          />
          {step.kind === "SubOrchestration" && step.child && (
            <button
              type="button"
              className="opener"
              aria-expanded={opened.has(path)}
              aria-label={`Steps of ${step.name}`}
              onClick={() => onOpen(path)}
            >
              {opened.has(path) ? <CloseIcon /> : <OpenIcon />}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  path: string;
  phase: Placed["step"]["phase"];
  reason: string;
  name: string;
  kind: string;
  sentence: string;
  attempt: number;
  took: string;
  isChosen: boolean;
  onChoose: (path: string) => void;
}

const Row = memo(function Row(props: RowProps) {
  return (
    <button
      type="button"
      className={`step-row${props.isChosen ? " chosen" : ""}`}
      aria-pressed={props.isChosen}
      onClick={() => props.onChoose(props.path)}
    >
      <PhaseBadge phase={props.phase} reason={props.reason} />
      <b>{props.name}</b>
      <span className="under kind">
        {props.kind}
        {props.attempt > 1 ? ` · attempt ${props.attempt}` : ""}
      </span>
      <span className="took">{props.took}</span>
      <span className="said">{props.sentence}</span>
    </button>
  );
});
