import {
  Background,
  Controls,
  getViewportForBounds,
  Handle,
  MiniMap,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import type { Edge, Node, NodeProps } from "@xyflow/react";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { KeyboardEvent } from "react";

import "@xyflow/react/dist/style.css";

import { duration } from "../format";
import { layout } from "../graph_layout";
import type { Box } from "../graph_layout";
import { counted, criticalPath, flattened, loudest } from "../steps";
import type { AnyPhase, RunDetail, Step } from "../types";
import { boxAt, FarView } from "./far_view";
import { CloseIcon, OpenIcon } from "./icons";
import { PhaseBadge, Progress, SIGNS } from "./phase";

interface Shown extends Record<string, unknown> {
  box: Box;
  step: Step | undefined;
  members: Step[];
  phase: AnyPhase;
  isChosen: boolean;
  isDim: boolean;
  isCritical: boolean;
  isTall: boolean;
  canOpen: boolean;
  took: string;
  onOpen: ((id: string) => void) | null;
}

type ShownNode = Node<Shown>;

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

const StepNode = memo(function StepNode({ data }: NodeProps<ShownNode>) {
  const { step, box, phase, took, onOpen } = data;
  return (
    <div className={`node node-${phase}${looks(data)}`} data-step={box.id} data-phase={phase}>
      <Ends isTall={data.isTall} />
      <span className={`sign phase-${phase}`} aria-hidden="true">
        {SIGNS[phase]}
      </span>
      <span className="words">
        <span className="name">{box.name}</span>
        <span className="under">
          {step?.kind}
          {step && step.attempt > 1 ? ` · attempt ${step.attempt}` : ""}
          {took ? ` · ${took}` : ""}
        </span>
      </span>
      {data.canOpen && onOpen && (
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
  const { box, members, phase } = data;
  const counts = counted(members);
  const ended = members.filter((step) => ["Succeeded", "Failed", "Skipped", "Cancelled"].includes(step.phase)).length;
  return (
    <div className={`node stack node-${phase}${looks(data)}`} data-phase={phase}>
      <Ends isTall={data.isTall} />
      <span className={`sign phase-${phase}`} aria-hidden="true">
        {SIGNS[phase]}
      </span>
      <span className="words">
        <span className="name">{box.name}</span>
        <Progress counts={counts} total={members.length} ended={ended} />
      </span>
    </div>
  );
});

const FrameNode = memo(function FrameNode({ data }: NodeProps<ShownNode>) {
  const { box, phase, took, onOpen } = data;
  return (
    <div className={`frame node-${phase}${looks(data)}`} data-step={box.what === "nested-frame" ? box.id : undefined}>
      <Ends isTall={data.isTall} />
      <div className="frame-head">
        <span className={`sign phase-${phase}`} aria-hidden="true">
          {SIGNS[phase]}
        </span>
        <b>{box.name}</b>
        {took && <span className="under">{took}</span>}
        <span className="spring" />
        <button
          type="button"
          className="opener nodrag"
          aria-label={`Hide the steps of ${box.name}`}
          title="Hide them again"
          onClick={(event) => {
            event.stopPropagation();
            onOpen?.(box.id);
          }}
        >
          <CloseIcon />
        </button>
      </div>
    </div>
  );
});

const KINDS = { step: StepNode, stack: StackNode, frame: FrameNode };
const LEAST = 0.02;
const MARGIN = 0.08;
/** Smaller than this nobody can read a name: shapes and colours are left. */
const FAR = 0.42;
const FEW = 120;
/** From so many on, what is far is drawn on a canvas. */
const BIG = 250;

interface Props {
  run: Pick<RunDetail, "steps">;
  nested: ReadonlyMap<string, RunDetail>;
  chosen: string | null;
  now: number;
  /** Lower-case text; steps without it in their names are drawn faintly. */
  find: string;
  onChoose: (path: string) => void;
  /** Opens or closes a nested run in place. */
  onOpen: ((path: string) => void) | null;
}

function Drawn({ run, nested, chosen, now, find, onChoose, onOpen }: Props) {
  const isTall = window.innerWidth < 700;
  const [openStacks, setOpenStacks] = useState<ReadonlySet<string>>(new Set());
  const [hovered, setHovered] = useState<{ shown: Shown; at: DOMRect } | null>(null);
  const turn = useRef((id: string) => id as unknown);
  turn.current = (id: string) => {
    if (!id.includes("~")) return onOpen?.(id);
    const next = new Set(openStacks);
    if (!next.delete(id)) next.add(id);
    return setOpenStacks(next);
  };
  const open = useMemo(() => (id: string) => void turn.current(id), []);
  const shape = useMemo(() => shapeOf(run.steps, nested), [run.steps, nested]);
  // The layout follows from the shape alone: a change of phases moves nothing.
  const made = useMemo(
    () => layout(run.steps, { nested, stacks: openStacks, isTall }),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [shape, openStacks, isTall],
  );
  const placed = useMemo(() => flattened(run as RunDetail, nested), [run, nested]);
  const critical = useMemo(() => {
    const found = criticalPath(run.steps);
    for (const [path, inner] of nested) {
      if (found.has(path)) for (const name of criticalPath(inner.steps)) found.add(`${path}/${name}`);
    }
    return new Set([...found].flatMap((path) => [path, made.shownIn.get(path) ?? path]));
  }, [run.steps, nested, made]);
  const steps = useMemo(() => new Map(placed.map((each) => [each.path, each.step])), [placed]);

  const crowds = useMemo(() => {
    const many = made.boxes.filter((each) => each.members.length);
    return new Map(many.map((each) => [each.id, loudest(each.members.flatMap((path) => steps.get(path)?.phase ?? []))]));
  }, [made, steps]);
  const isFar = useStore((state) => state.transform[2] < FAR);
  const isCanvas = isFar && made.boxes.length > BIG;
  const kept = useRef(new Map<string, ShownNode>());
  const nodes = (isCanvas ? [] : made.boxes).map((box) => {
    const step = steps.get(box.id);
    const members = box.what === "stack" ? box.members.flatMap((path) => steps.get(path) ?? []) : [];
    const phase = step?.phase ?? crowds.get(box.id) ?? "Pending";
    const data: Shown = {
      box,
      step,
      members,
      phase,
      isChosen: box.id === chosen,
      isDim: find !== "" && ![box.name, ...box.members].some((name) => name.toLowerCase().includes(find)),
      isCritical: critical.has(box.id),
      isTall,
      canOpen: step?.kind === "SubOrchestration" && Boolean(step.child),
      took: step ? duration(step.startedAt, step.finishedAt, now) : "",
      onOpen: box.what === "step" && !onOpen ? null : open,
    };
    const node = nodeOf(box, data, kept.current.get(box.id));
    kept.current.set(box.id, node);
    return node;
  });
  const edges = useMemo(
    (): Edge[] =>
      (isCanvas ? [] : made.lines).map(({ source, target }) => ({
        id: `${source}>${target}`,
        source,
        target,
        className: critical.has(source) && critical.has(target) ? "critical" : "",
        zIndex: critical.has(source) && critical.has(target) ? 1 : 0,
      })),
    [made, critical, isCanvas],
  );

  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  const isMoved = useRef(false);
  useEffect(() => {
    isMoved.current = false;
  }, [made]);
  const fit = useCallback(() => {
    const room = box.current;
    if (!room) return;
    const most = window.innerWidth > 2400 ? 1.8 : 1.1;
    void flow.setViewport(getViewportForBounds(boundsOf(made.boxes), room.clientWidth, room.clientHeight, LEAST, most, MARGIN));
  }, [flow, made]);
  useEffect(() => {
    // Also when the panel of a step takes room away; but what somebody moved stays where it is.
    const observer = new ResizeObserver(() => {
      if (!isMoved.current) fit();
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [fit]);

  const choose = (shown: Shown) => {
    if (shown.box.what === "stack") {
      // The pointer never leaves what is gone.
      setHovered(null);
      open(shown.box.id);
    } else if (shown.box.what !== "stack-frame") onChoose(shown.box.id);
  };
  const press = (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset["id"];
    const found = (event.key === "Enter" || event.key === " ") && id ? kept.current.get(id) : undefined;
    if (!found || (event.target as HTMLElement).tagName === "BUTTON") return;
    event.preventDefault();
    choose(found.data);
  };
  return (
    <div className={`graph-inner${isFar ? " far" : ""}`} onKeyDown={press}>
      <ReactFlow
        ref={box}
        nodes={nodes}
        edges={edges}
        nodeTypes={KINDS}
        onNodeClick={(_, node) => choose(node.data)}
        onNodeMouseEnter={(event, node) =>
          setHovered({ shown: node.data, at: (event.currentTarget as HTMLElement).getBoundingClientRect() })
        }
        onNodeMouseLeave={() => setHovered(null)}
        onPaneClick={(event) => {
          if (!isCanvas) return;
          const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
          const id = boxAt(made, at.x, at.y);
          if (id?.includes("~")) open(id);
          else if (id) onChoose(id);
        }}
        onMove={(event) => {
          // What the page moves by itself has no event.
          if (!event) return;
          isMoved.current = true;
          setHovered(null);
        }}
        nodesFocusable={made.boxes.length <= FEW}
        edgesFocusable={false}
        nodesDraggable={false}
        nodesConnectable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements={made.boxes.length > FEW}
        minZoom={LEAST}
        maxZoom={2}
        defaultViewport={{ x: 0, y: 0, zoom: LEAST }}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={22} size={1.2} />
        {isCanvas && (
          <FarView
            made={made}
            phaseOf={(id) => steps.get(id)?.phase ?? crowds.get(id) ?? "Pending"}
            isDim={(id) => find !== "" && !id.toLowerCase().includes(find)}
            chosen={chosen}
            words={`${steps.size} steps from afar; the list has each of them`}
          />
        )}
        <Controls
          showInteractive={false}
          onFitView={() => {
            isMoved.current = false;
            fit();
          }}
        />
        {made.boxes.length > 12 && !isTall && !isCanvas && (
          <MiniMap pannable zoomable ariaLabel="Small map of the graph" nodeClassName={(node) => `mini-${(node.data as Shown).phase}`} />
        )}
      </ReactFlow>
      {hovered && <Hint shown={kept.current.get(hovered.shown.box.id)?.data ?? hovered.shown} at={hovered.at} />}
    </div>
  );
}

function boundsOf(boxes: readonly Box[]): { x: number; y: number; width: number; height: number } {
  const outer = boxes.filter((box) => !box.parent);
  return {
    x: 0,
    y: 0,
    width: outer.reduce((most, box) => Math.max(most, box.x + box.width), 1),
    height: outer.reduce((most, box) => Math.max(most, box.y + box.height), 1),
  };
}

function shapeOf(steps: readonly Step[], nested: ReadonlyMap<string, RunDetail>): string {
  const of = (all: readonly Step[]) => all.map((step) => `${step.name}<${step.dependsOn.join(",")}`).join(";");
  return [of(steps), ...[...nested].map(([path, inner]) => `${path}:${of(inner.steps)}`)].join("|");
}

/** The same value as before if it looks the same, so that a thousand nodes are not drawn anew each second. */
function nodeOf(box: Box, data: Shown, before: ShownNode | undefined): ShownNode {
  if (before && (Object.keys(data) as (keyof Shown)[]).every((key) => isSame(before.data[key], data[key]))) return before;
  const sentence = data.step ? `${data.phase}: ${data.step.sentence}` : data.phase;
  return {
    id: box.id,
    type: box.what === "step" ? "step" : box.what === "stack" ? "stack" : "frame",
    position: { x: box.x, y: box.y },
    ...(box.parent ? { parentId: box.parent } : {}),
    data,
    width: box.width,
    height: box.height,
    ariaLabel: `${box.name}, ${sentence}`,
  };
}

function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, index) => each === other[index]);
  }
  return one === other;
}

/** Why a step is as it is, where the pointer is. */
function Hint({ shown, at }: { shown: Shown; at: DOMRect }) {
  const isLow = at.bottom > window.innerHeight - 140;
  const style = {
    left: Math.max(8, Math.min(at.left, window.innerWidth - 348)),
    ...(isLow ? { bottom: window.innerHeight - at.top + 8 } : { top: at.bottom + 8 }),
  };
  const { step, members } = shown;
  return (
    <div className="hint" style={style} role="tooltip">
      <div className="hint-head">
        <b>{shown.box.name}</b>
        <PhaseBadge phase={shown.phase} />
      </div>
      {step?.reason && step.reason !== step.phase && <p className="under">{step.reason}</p>}
      {step?.sentence && <p>{step.sentence}</p>}
      {members.length > 0 && (
        <p>
          {Object.entries(counted(members))
            .map(([phase, count]) => `${count} ${phase}`)
            .join(", ")}
          ; choose it to see each
        </p>
      )}
      {shown.isCritical && <p className="under">on the path that decides when the run ends</p>}
    </div>
  );
}

export function StepGraph(props: Props) {
  return (
    <div className="graph" role="region" aria-label="Steps as a graph; the list shows the same">
      <ReactFlowProvider>
        <Drawn {...props} />
      </ReactFlowProvider>
    </div>
  );
}
