import {
  Background,
  ControlButton,
  Controls,
  MiniMap,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import type { Edge } from "@xyflow/react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { CSSProperties, KeyboardEvent, MouseEvent } from "react";

import "@xyflow/react/dist/style.css";

import { duration } from "../format";
import { layout, WIDTH } from "../graph_layout";
import type { Box } from "../graph_layout";
import { shortened } from "../names";
import { criticalPath, flattened, loudest } from "../steps";
import type { AnyPhase, RunDetail, Step } from "../types";
import {
  centered,
  extent,
  fits,
  fitted,
  held,
  inSight,
  overview,
  places,
  READABLE,
  revealed,
} from "../viewport";
import type { Place, Viewport } from "../viewport";
import { boxAt, Overview } from "./overview";
import { Hint } from "./graph_hint";
import type { HintPlace } from "./graph_hint";
import { KINDS, nodeOf } from "./graph_nodes";
import type { Shown, ShownNode } from "./graph_nodes";
import { CloseIcon, FitIcon, WholeIcon } from "./icons";

const LEAST = 0.02;
/** Smaller than this only shapes and colors are drawn: no text rather than unreadable text. */
const FAR = 0.42;
const FEW = 120;
/** From so many boxes on, what is far is drawn on a canvas. */
const BIG = 250;
const MAPPED = 400;
const PHONE = 700;
const NAME = 14;
const UNDER = 13;
const LEAST_TEXT = 11.2;
/** Of a node's width, what its name cannot have: border, padding, sign and mark. */
const AROUND = 76;

interface Props {
  run: Pick<RunDetail, "steps">;
  nested: ReadonlyMap<string, RunDetail>;
  /** Paths of the nested runs and ids of the stacks that are opened. */
  opened: readonly string[];
  chosen: string | null;
  now: number;
  /** Lower-case text; steps without it in their names are drawn faintly. */
  find: string;
  /** The chosen step is brought into the middle each time this grows. */
  jump?: number;
  /** Steps that were never run have no phase. */
  isDefinition?: boolean;
  onChoose: (path: string) => void;
  /** Opens or closes a nested run or a stack in place. */
  onOpen: (id: string) => void;
}

/** Zoom in steps: names are shortened again when the text must grow, not with every turn of the wheel. */
function levelOf(zoom: number): number {
  return zoom >= READABLE ? 1 : Math.max(FAR - 0.02, Math.floor(zoom * 20) / 20);
}

function Drawn({
  run,
  nested,
  opened,
  chosen,
  now,
  find,
  jump = 0,
  isDefinition = false,
  onChoose,
  onOpen,
}: Props) {
  const isTall = window.innerWidth < PHONE;
  const stackKey = opened.filter((id) => id.includes("~")).join(",");
  const shape = useMemo(() => shapeOf(run.steps, nested), [run.steps, nested]);
  // The layout follows from the shape alone: a change of phases moves nothing.
  const made = useMemo(
    () => layout(run.steps, { nested, stacks: new Set(stackKey.split(",")), isTall }),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [shape, stackKey, isTall],
  );
  const where = useMemo(() => places(made), [made]);
  const placed = useMemo(() => flattened(run as RunDetail, nested), [run, nested]);
  const steps = useMemo(() => new Map(placed.map((item) => [item.path, item.step])), [placed]);
  const critical = useMemo(() => criticalBoxes(run, nested, made.shownIn), [run, nested, made]);
  const crowds = useMemo(() => {
    const many = made.boxes.filter((entry) => entry.members.length);
    return new Map(
      many.map((element) => [
        element.id,
        loudest(element.members.flatMap((path) => steps.get(path)?.phase ?? [])),
      ]),
    );
  }, [made, steps]);
  const chosenBox = chosen ? (made.shownIn.get(chosen) ?? chosen) : null;

  const level = useStore((state) => levelOf(state.transform[2]));
  const isFar = useStore((state) => state.transform[2] < FAR);
  const isCanvas = isFar && made.boxes.length > BIG;
  const nameSize = level === 1 ? NAME : LEAST_TEXT / level;
  const labels = useMemo(() => {
    const hasOpeners = made.boxes.some((box) => steps.get(box.id)?.kind === "SubOrchestration");
    const names = made.boxes.map((box) => box.name);
    const letters = Math.floor((WIDTH - AROUND - (hasOpeners ? 34 : 0)) / (nameSize * letterWidth(names)));
    return shortened(names, Math.max(5, letters));
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [made, nameSize]);

  const flow = useReactFlow();
  const room = useRef<HTMLDivElement>(null);
  const isFitted = useRef(false);
  const isMoved = useRef(false);
  const turned = useRef<string | null>(null);
  const isJumping = useRef(false);
  const [hovered, setHovered] = useState<{ id: string; at: HintPlace } | null>(null);
  const [hasMap, setMap] = useState(false);
  const move = useCallback(
    (next: Viewport) => {
      setHovered(null);
      void flow.setViewport(next);
    },
    [flow],
  );
  const space = () => ({ width: room.current?.clientWidth ?? 0, height: room.current?.clientHeight ?? 0 });

  const fit = useCallback(() => {
    const whole = extent(made.boxes);
    const most = window.innerWidth > 2400 ? 1.6 : 1.1;
    const start = where.get(chosenBox ?? "") ?? where.get(made.boxes[0]?.id ?? "");
    isFitted.current = true;
    isMoved.current = false;
    move(fitted(whole, start, space(), most));
    setMap(!fits(whole, { width: space().width, height: space().height + (isTall ? 0 : 60) }));
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [made, where, move, isTall]);
  const reveal = useCallback(() => {
    const box = chosenBox ? where.get(chosenBox) : undefined;
    if (!box || !isFitted.current) return;
    const before = flow.getViewport();
    if (isJumping.current && !(chosenBox ?? "").includes("~")) {
      isJumping.current = false;
      move(centered(box, space(), Math.max(READABLE, before.zoom)));
      return;
    }
    const next = revealed(before, box, space());
    if (next !== before) move(next);
  }, [chosenBox, where, flow, move]);

  // A new layout, because the user opened something or a nested run grew: what the user looks at stays where it is.
  const placesBefore = useRef(where);
  useLayoutEffect(() => {
    const before = placesBefore.current;
    placesBefore.current = where;
    if (before === where || !isFitted.current) return;
    const both = new Map([...before].filter(([id]) => where.has(id)));
    const view = flow.getViewport();
    const anchor = [turned.current, chosenBox, inSight(both, view, space())].find((id) => id && both.has(id));
    const place = where.get(anchor ?? "") as Place;
    const next = anchor ? held(view, both.get(anchor) as Place, place) : view;
    // What the user opens is shown from its beginning; nothing else moves the graph.
    if (anchor) move(anchor === turned.current ? revealed(next, place, space()) : next);
    turned.current = null;
    setMap(!fits(extent(made.boxes), space()));
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [where]);
  useEffect(() => {
    if (jump) isJumping.current = true;
  }, [jump]);
  useEffect(() => {
    // A step inside a closed stack can only be shown by opening it.
    if (isJumping.current && chosenBox?.includes("~")) onOpen(chosenBox);
    else reveal();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [chosenBox, jump, where]);
  useEffect(() => {
    // The panel of a step takes room away: the graph stays, and the step stays visible. A resized window is handled elsewhere.
    let [width, height] = [window.innerWidth, window.innerHeight];
    let top = room.current?.getBoundingClientRect().top ?? 0;
    const observer = new ResizeObserver(() => {
      const isWindow = width !== window.innerWidth || height !== window.innerHeight;
      [width, height] = [window.innerWidth, window.innerHeight];
      const lowered = (room.current?.getBoundingClientRect().top ?? 0) - top;
      top += lowered;
      const view = flow.getViewport();
      if (!isFitted.current || (isWindow && !isMoved.current)) fit();
      // A message above the graph pushes it down: what is drawn stays where it is on the screen.
      else if (lowered) move({ ...view, y: view.y - lowered });
      reveal();
    });
    if (room.current) observer.observe(room.current);
    return () => observer.disconnect();
  }, [fit, reveal, flow, move]);

  const turn = useRef(onOpen);
  turn.current = (id: string) => {
    turned.current = id;
    setHovered(null);
    onOpen(id);
  };
  const open = useCallback((id: string) => turn.current(id), []);
  const shownOf = (box: Box): Shown => {
    const step = steps.get(box.id);
    const phase: AnyPhase = isDefinition ? "Defined" : (step?.phase ?? crowds.get(box.id) ?? "Pending");
    return {
      box,
      label: labels.get(box.name) ?? box.name,
      step,
      members: box.what === "stack" ? box.members.flatMap((path) => steps.get(path) ?? []) : [],
      phase,
      isChosen: box.id === chosenBox,
      isDim: find !== "" && ![box.name, ...box.members].some((name) => name.toLowerCase().includes(find)),
      isCritical: !isDefinition && critical.has(box.id),
      isTall,
      canOpen: step?.kind === "SubOrchestration" && Boolean(step.child),
      took: step ? duration(step.startedAt, step.finishedAt, now) : "",
      onOpen: open,
    };
  };
  const kept = useRef(new Map<string, ShownNode>());
  const nodes = (isCanvas ? [] : made.boxes).map((box) => {
    const node = nodeOf(shownOf(box), kept.current.get(box.id));
    kept.current.set(box.id, node);
    return node;
  });
  const edges = useMemo(
    (): Edge[] =>
      (isCanvas ? [] : made.lines).map(({ source, target }) => {
        const isCritical = !isDefinition && critical.has(source) && critical.has(target);
        return {
          id: `${source}>${target}`,
          source,
          target,
          className: isCritical ? "critical" : "",
          zIndex: isCritical ? 1 : 0,
        };
      }),
    [made, critical, isCanvas, isDefinition],
  );

  const choose = (box: Box) => {
    if (box.what === "stack") open(box.id);
    else if (box.what !== "stack-frame") onChoose(box.id);
  };
  const byId = useMemo(() => new Map(made.boxes.map((box) => [box.id, box])), [made]);
  const press = (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset["id"];
    const box = (event.key === "Enter" || event.key === " ") && id ? byId.get(id) : undefined;
    if (!box || (event.target as HTMLElement).tagName === "BUTTON") return;
    event.preventDefault();
    choose(box);
  };
  // Browsers report a move when something slides under a pointer that rests: only a pointer that moves points at something.
  const pointer = useRef({ x: -1, y: -1, hasMoved: false });
  const track = (event: MouseEvent) => {
    const { x, y } = pointer.current;
    pointer.current = {
      x: event.clientX,
      y: event.clientY,
      hasMoved: event.clientX !== x || event.clientY !== y,
    };
  };
  const point = (id: string, at: HintPlace) => {
    if (pointer.current.hasMoved && hovered?.id !== id) setHovered({ id, at });
  };
  const boxUnder = (event: MouseEvent) => {
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    return byId.get(boxAt(made, at.x, at.y) ?? "");
  };
  const pointFar = (event: MouseEvent) => {
    const box = isCanvas ? boxUnder(event) : undefined;
    if (box) point(box.id, { left: event.clientX, top: event.clientY, bottom: event.clientY + 8 });
    else if (hovered) setHovered(null);
  };
  const hoveredBox = hovered ? byId.get(hovered.id) : undefined;
  const frames = made.boxes.filter((box) => box.what === "nested-frame" || box.what === "stack-frame");
  const sizes = { "--name": `${nameSize}px`, "--under": `${Math.max(UNDER, nameSize)}px` } as CSSProperties;
  return (
    <div
      className={`graph-inner${isFar ? " far" : level < 0.75 ? " mid" : ""}`}
      style={sizes}
      onKeyDown={press}
      onMouseMoveCapture={track}
    >
      <div className="canvas">
        <ReactFlow
          ref={room}
          nodes={nodes}
          edges={edges}
          nodeTypes={KINDS}
          onNodeClick={(_, node) => choose(node.data.box)}
          onNodeMouseMove={(event, node) =>
            point(node.id, (event.currentTarget as HTMLElement).getBoundingClientRect())
          }
          onNodeMouseLeave={() => setHovered(null)}
          onPaneMouseMove={pointFar}
          onPaneClick={(event) => {
            const box = isCanvas ? boxUnder(event) : undefined;
            if (box) choose(box);
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
          defaultViewport={{ x: 0, y: 0, zoom: READABLE }}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={22} size={1.2} />
          {isCanvas && (
            <Overview
              made={made}
              phaseOf={(id) =>
                isDefinition ? "Defined" : (steps.get(id)?.phase ?? crowds.get(id) ?? "Pending")
              }
              isDim={(id) => find !== "" && !id.toLowerCase().includes(find)}
              chosen={chosen}
              words={`${steps.size} steps as shapes; the list has each of them`}
            />
          )}
        </ReactFlow>
      </div>
      <div className="graph-foot">
        <Controls
          orientation="horizontal"
          showInteractive={false}
          showFitView={false}
          onZoomIn={() => void (isMoved.current = true)}
          onZoomOut={() => void (isMoved.current = true)}
        >
          <ControlButton
            onClick={fit}
            title="Readable size, from the start"
            aria-label="Readable size, from the start"
          >
            <FitIcon />
          </ControlButton>
          <ControlButton
            onClick={() => {
              isMoved.current = true;
              move(overview(extent(made.boxes), space()));
            }}
            title="The whole graph"
            aria-label="The whole graph"
          >
            <WholeIcon />
          </ControlButton>
        </Controls>
        {!isDefinition && critical.size > 0 && (
          <span className="under">
            <span className="path-mark" aria-hidden="true">
              ◆━
            </span>{" "}
            critical path
          </span>
        )}
        {frames.map((box) => (
          <button
            key={box.id}
            type="button"
            className="chip"
            title={`Hide the steps of ${box.name}`}
            onClick={() => open(box.id)}
          >
            {box.name} <CloseIcon />
          </button>
        ))}
        <span className="spring" />
        {hasMap && !isTall && !isCanvas && made.boxes.length <= MAPPED && (
          <MiniMap
            pannable
            zoomable
            ariaLabel="Small map of the graph"
            nodeClassName={(node) =>
              `mini-${(node.data as Shown).phase}${node.type === "frame" ? " mini-frame" : ""}`
            }
            nodeBorderRadius={12}
          />
        )}
      </div>
      {hovered && hoveredBox && <Hint shown={shownOf(hoveredBox)} at={hovered.at} />}
    </div>
  );
}

/** How wide a letter of these names is on average, of a font of one pixel; a little more, because some names are wider. */
function letterWidth(names: readonly string[]): number {
  const text = names.slice(0, 100).join("");
  const pen = document.createElement("canvas").getContext("2d");
  if (!pen || !text) return 0.68;
  pen.font = `600 100px ${getComputedStyle(document.body).fontFamily}`;
  return (1.06 * pen.measureText(text).width) / text.length / 100;
}

/** Boxes of the steps that decide when the run ends, those inside opened nested runs too. */
function criticalBoxes(
  run: Pick<RunDetail, "steps">,
  nested: ReadonlyMap<string, RunDetail>,
  shownIn: ReadonlyMap<string, string>,
): Set<string> {
  const found = criticalPath(run.steps);
  for (const [path, inner] of nested) {
    if (found.has(path)) for (const name of criticalPath(inner.steps)) found.add(`${path}/${name}`);
  }
  return new Set([...found].flatMap((path) => [path, shownIn.get(path) ?? path]));
}

function shapeOf(steps: readonly Step[], nested: ReadonlyMap<string, RunDetail>): string {
  const of = (all: readonly Step[]) =>
    all.map((step) => `${step.name}<${step.dependsOn.join(",")}`).join(";");
  return [of(steps), ...[...nested].map(([path, inner]) => `${path}:${of(inner.steps)}`)].join("|");
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
