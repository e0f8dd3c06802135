/** Where every step of a run is drawn, opened nested runs and stacks inside their frames. Follows from shape alone. Pure. */

import dagre from "@dagrejs/dagre";

import { depths, sharedName, stacks } from "./steps";
import type { RunDetail, Step } from "./types";

export const WIDTH = 240;
export const HEIGHT = 54;
const HEAD = 38;
const PAD = 14;
/** Beyond this many boxes a plain layered layout is used: the careful one takes seconds. */
const CAREFUL = 250;

export type What = "step" | "stack" | "nested-frame" | "stack-frame";

export interface Box {
  /** Path of the step; of a stack, that of its first with a `~` before the name. */
  id: string;
  name: string;
  what: What;
  parent: string | null;
  /** Within the parent. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Paths of the steps that a stack holds. */
  members: string[];
}

export interface Line {
  source: string;
  target: string;
}

export interface Layout {
  boxes: Box[];
  lines: Line[];
  /** By path of a step, the box that shows it: its own, or that of its stack. */
  shownIn: Map<string, string>;
}

interface Item {
  box: Box;
  needs: Set<string>;
  inside: Box[];
}

export interface Opened {
  nested: ReadonlyMap<string, Pick<RunDetail, "steps">>;
  stacks: ReadonlySet<string>;
  isTall: boolean;
}

export function layout(steps: readonly Step[], opened: Opened): Layout {
  const made: Layout = { boxes: [], lines: [], shownIn: new Map() };
  const { boxes } = level(steps, "", null, opened, made);
  made.boxes = boxes;
  return made;
}

interface Level {
  boxes: Box[];
  width: number;
  height: number;
}

function level(
  steps: readonly Step[],
  before: string,
  parent: string | null,
  opened: Opened,
  made: Layout,
): Level {
  const items = new Map<string, Item>();
  const owner = new Map<string, string>();
  for (const names of stacks(steps)) {
    const id = `${before}~${names[0] ?? ""}`;
    const members = names.map((name) => before + name);
    for (const name of names) owner.set(name, id);
    items.set(
      id,
      opened.stacks.has(id) ? openStack(id, names, members, parent) : closedStack(id, names, members, parent),
    );
  }
  for (const step of steps) {
    const path = before + step.name;
    const stack = owner.get(step.name);
    if (stack !== undefined) {
      made.shownIn.set(path, opened.stacks.has(stack) ? path : stack);
      continue;
    }
    owner.set(step.name, path);
    made.shownIn.set(path, path);
    const inner = opened.nested.get(path);
    const box: Box = {
      id: path,
      name: step.name,
      what: "step",
      parent,
      x: 0,
      y: 0,
      width: WIDTH,
      height: HEIGHT,
      members: [],
    };
    if (!inner) {
      items.set(path, { box, needs: new Set(), inside: [] });
      continue;
    }
    const within = level(inner.steps, `${path}/`, path, opened, made);
    for (const item of within.boxes) if (item.parent === path) item.y += HEAD;
    const framed: Box = {
      ...box,
      what: "nested-frame",
      width: Math.max(within.width, WIDTH + 2 * PAD),
      height: within.height + HEAD,
    };
    items.set(path, { box: framed, needs: new Set(), inside: within.boxes });
  }
  const drawn = new Set<string>();
  for (const step of steps) {
    const target = owner.get(step.name) as string;
    for (const need of step.dependsOn) {
      const source = owner.get(need);
      if (source === undefined || source === target || drawn.has(`${source}>${target}`)) continue;
      drawn.add(`${source}>${target}`);
      made.lines.push({ source, target });
      items.get(target)?.needs.add(source);
    }
  }
  return placed([...items.values()], opened.isTall);
}

function stackName(names: readonly string[]): string {
  return `${sharedName(names) || names[0] || ""} ×${names.length}`;
}

function closedStack(id: string, names: string[], members: string[], parent: string | null): Item {
  const box: Box = {
    id,
    name: stackName(names),
    what: "stack",
    parent,
    x: 0,
    y: 0,
    width: WIDTH,
    height: HEIGHT + 12,
    members,
  };
  return { box, needs: new Set(), inside: [] };
}

function openStack(id: string, names: string[], members: string[], parent: string | null): Item {
  const across = Math.max(1, Math.ceil(Math.sqrt(names.length / 3)));
  const down = Math.ceil(names.length / across);
  const inside = names.map((name, index): Box => ({
    id: members[index] ?? name,
    name,
    what: "step",
    parent: id,
    x: PAD + (index % across) * (WIDTH + 10),
    y: HEAD + PAD + Math.floor(index / across) * (HEIGHT + 8),
    width: WIDTH,
    height: HEIGHT,
    members: [],
  }));
  const width = 2 * PAD + across * (WIDTH + 10) - 10;
  const height = HEAD + 2 * PAD + down * (HEIGHT + 8) - 8;
  const box: Box = {
    id,
    name: stackName(names),
    what: "stack-frame",
    parent,
    x: 0,
    y: 0,
    width,
    height,
    members,
  };
  return { box, needs: new Set(), inside };
}

function placed(items: readonly Item[], isTall: boolean): Level {
  if (items.length > CAREFUL) layered(items, isTall);
  else careful(items, isTall);
  return {
    // A frame stands before what is in it.
    boxes: items.flatMap((item) => [item.box, ...item.inside]),
    width: Math.max(0, ...items.map(({ box }) => box.x + box.width)) + PAD,
    height: items.reduce((most, { box }) => Math.max(most, box.y + box.height), 0) + PAD,
  };
}

function careful(items: readonly Item[], isTall: boolean): void {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    rankdir: isTall ? "TB" : "LR",
    nodesep: 18,
    ranksep: isTall ? 40 : 60,
    marginx: PAD,
    marginy: PAD,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { box } of items) graph.setNode(box.id, { width: box.width, height: box.height });
  for (const { box, needs } of items) for (const need of needs) graph.setEdge(need, box.id);
  dagre.layout(graph);
  for (const { box } of items) {
    const at = graph.node(box.id) as { x: number; y: number };
    box.x = at.x - box.width / 2;
    box.y = at.y - box.height / 2;
  }
}

function layered(items: readonly Item[], isTall: boolean): void {
  const depth = depths(items.map(({ box, needs }) => ({ name: box.id, dependsOn: [...needs] })));
  const ranks: Item[][] = [];
  for (const item of items) (ranks[depth.get(item.box.id) ?? 0] ??= []).push(item);
  let along = PAD;
  for (const rank of ranks) {
    let across = PAD;
    for (const { box } of rank) {
      [box.x, box.y] = isTall ? [across, along] : [along, across];
      across += (isTall ? box.width : box.height) + 16;
    }
    along += Math.max(...rank.map(({ box }) => (isTall ? box.height : box.width))) + 70;
  }
}
