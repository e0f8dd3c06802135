import { Handle, Position } from "@xyflow/react";
import type { Node, NodeProps } from "@xyflow/react";
import { memo } from "react";

import type { Box } from "../graph_layout";
import { counted } from "../steps";
import type { AnyPhase, Step } from "../types";
import { CloseIcon, OpenIcon } from "./icons";
import { Progress, SIGNS } from "./phase";

export interface Shown extends Record<string, unknown> {
  box: Box;
  /** The name as it fits into the box. */
  label: string;
  step: Step | undefined;
  members: Step[];
  phase: AnyPhase;
  isChosen: boolean;
  isDim: boolean;
  isCritical: boolean;
  isTall: boolean;
  canOpen: boolean;
  took: string;
  onOpen: (id: string) => void;
}

export type ShownNode = Node<Shown>;

function Ends({ isTall }: { isTall: boolean }) {
  return (
    <>
      <Handle type="target" position={isTall ? Position.Top : Position.Left} isConnectable={false} />
      <Handle type="source" position={isTall ? Position.Bottom : Position.Right} isConnectable={false} />
    </>
  );
}

function looks(data: Shown): string {
  return `${data.isChosen ? " chosen" : ""}${data.isDim ? " dim" : ""}${data.isCritical ? " on-path" : ""}`;
}

/** Color never stands alone: what is on the critical path has a sign too. */
function PathMark({ isCritical }: { isCritical: boolean }) {
  if (!isCritical) return null;
  return (
    <span className="path-mark" aria-hidden="true">
      ◆
    </span>
  );
}

function Sign({ phase }: { phase: AnyPhase }) {
  return (
    <span className={`sign phase-${phase}`} aria-hidden="true">
      {SIGNS[phase]}
    </span>
  );
}

function under({ step, took }: Shown): string {
  if (!step) return "";
  const kept = step.reason === "Reused" ? "kept" : "";
  return [step.kind, kept, step.attempt > 1 ? `attempt ${step.attempt}` : "", took]
    .filter(Boolean)
    .join(" · ");
}

const StepNode = memo(function StepNode({ data }: NodeProps<ShownNode>) {
  const { box, phase, onOpen } = data;
  return (
    <div className={`node node-${phase}${looks(data)}`} data-step={box.id} data-phase={phase}>
      <Ends isTall={data.isTall} />
      <Sign phase={phase} />
      <span className="words">
        <span className="name">{data.label}</span>
        <span className="under">{under(data)}</span>
      </span>
      <PathMark isCritical={data.isCritical} />
      {data.canOpen && (
        <button
          type="button"
          className="opener nodrag"
          aria-label={`Show the steps of ${box.name} here`}
          title="Show its steps here"
          onClick={(event) => {
            event.stopPropagation();
            onOpen(box.id);
          }}
        >
          <OpenIcon />
        </button>
      )}
    </div>
  );
});

const StackNode = memo(function StackNode({ data }: NodeProps<ShownNode>) {
  const { members, phase } = data;
  const ended = members.filter((step) =>
    ["Succeeded", "Failed", "Skipped", "Cancelled"].includes(step.phase),
  ).length;
  return (
    <div className={`node stack node-${phase}${looks(data)}`} data-phase={phase} data-stack={data.box.id}>
      <Ends isTall={data.isTall} />
      <Sign phase={phase} />
      <span className="words">
        <span className="name">{data.label}</span>
        {phase === "Defined" ? (
          <span className="under">alike; select to see each</span>
        ) : (
          <Progress counts={counted(members)} total={members.length} ended={ended} />
        )}
      </span>
      <PathMark isCritical={data.isCritical} />
    </div>
  );
});

const FrameNode = memo(function FrameNode({ data }: NodeProps<ShownNode>) {
  const { box, phase, took, onOpen } = data;
  return (
    <div
      className={`frame node-${phase}${looks(data)}`}
      data-step={box.what === "nested-frame" ? box.id : undefined}
    >
      <Ends isTall={data.isTall} />
      <div className="frame-head">
        <Sign phase={phase} />
        <b>{data.label}</b>
        {took && <span className="under">{took}</span>}
        <PathMark isCritical={data.isCritical} />
        <span className="spring" />
        <button
          type="button"
          className="opener nodrag"
          aria-label={`Hide the steps of ${box.name}`}
          title="Hide its steps"
          onClick={(event) => {
            event.stopPropagation();
            onOpen(box.id);
          }}
        >
          <CloseIcon />
        </button>
      </div>
    </div>
  );
});

export const KINDS = { step: StepNode, stack: StackNode, frame: FrameNode };

/** The same value as before if it looks the same: a thousand nodes are not redrawn each second. */
export function nodeOf(data: Shown, before: ShownNode | undefined): ShownNode {
  if (before && (Object.keys(data) as (keyof Shown)[]).every((key) => isSame(before.data[key], data[key])))
    return before;
  const { box, step, phase } = data;
  const state = phase === "Defined" ? (step?.sentence ?? "") : step ? `${phase}: ${step.sentence}` : phase;
  return {
    id: box.id,
    type: box.what === "step" ? "step" : box.what === "stack" ? "stack" : "frame",
    position: { x: box.x, y: box.y },
    ...(box.parent ? { parentId: box.parent } : {}),
    data,
    width: box.width,
    height: box.height,
    ariaLabel: `${box.name}, ${state}${data.isCritical ? ", on the critical path" : ""}`,
  };
}

function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => item === other[index]);
  }
  return one === other;
}
