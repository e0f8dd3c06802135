import { memo, useRef } from "react";
import type { KeyboardEvent } from "react";

import { duration, many } from "../format";
import { setQuery } from "../router";
import { SORTS } from "../steps";
import type { Placed, Sort } from "../steps";
import { CloseIcon, OpenIcon } from "./icons";
import { KeptTag, PhaseBadge } from "./phase";

interface Props {
  placed: readonly Placed[];
  now: number;
  chosen: string | null;
  opened: ReadonlySet<string>;
  sort: Sort;
  isDown: boolean;
  onChoose: (path: string) => void;
  onOpen: (path: string) => void;
}

const COLUMNS: readonly [Sort, string][] = [
  ["phase", "Phase"],
  ["name", "Step"],
  ["kind", "Kind"],
  ["duration", "Duration"],
];

/** `sort=-duration` in the address: the column, with a minus for the longest first. */
export function sortOf(asked: string | null): { sort: Sort; isDown: boolean } {
  const isDown = asked?.startsWith("-") ?? false;
  const sort = SORTS.find((item) => item === (isDown ? asked?.slice(1) : asked)) ?? "order";
  return { sort, isDown };
}

/** Every step with why it is as it is; arrows move from one to the next. */
export function StepList({ placed, now, chosen, opened, sort, isDown, onChoose, onOpen }: Props) {
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
  const turn = (column: Sort) => {
    const next = sort !== column ? column : isDown ? null : `-${column}`;
    setQuery({ sort: next });
  };
  if (!placed.length) return <p className="quiet padded">No step matches.</p>;
  return (
    <>
      <div className="step-head" role="group" aria-label="Sort steps">
        {COLUMNS.map(([column, title]) => (
          <button
            key={column}
            type="button"
            className={`column-${column}`}
            aria-pressed={sort === column}
            title={`Sort by ${title.toLowerCase()}`}
            onClick={() => turn(column)}
          >
            {title}
            <span aria-hidden="true">{sort === column ? (isDown ? " ▼" : " ▲") : ""}</span>
            {sort === column && <span className="hidden">{isDown ? ", descending" : ", ascending"}</span>}
          </button>
        ))}
        <span className="column-said">Why</span>
      </div>
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
    </>
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
      <b>
        {props.name} {props.reason === "Reused" && <KeptTag />}
      </b>
      <span className="under kind">
        {props.kind}
        {props.attempt > 1 ? ` · attempt ${props.attempt}` : ""}
      </span>
      <span className="took">{props.took}</span>
      <span className="said">{props.sentence}</span>
    </button>
  );
});
