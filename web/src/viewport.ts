/** Where a graph is on the screen: readable from the start, and moved no further than necessary. Pure. */

import type { Box, Layout } from "./graph_layout";

export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

export interface Room {
  width: number;
  height: number;
}

export interface Place extends Room {
  x: number;
  y: number;
}

/** At this zoom the smallest text of a node has 11 pixels. */
export const READABLE = 0.85;
const MARGIN = 24;

/** Every box where it is in the whole drawing, not within its frame. */
export function places(layout: Pick<Layout, "boxes">): Map<string, Place> {
  const found = new Map<string, Place>();
  for (const { id, parent, x, y, width, height } of layout.boxes) {
    const around = parent ? found.get(parent) : undefined;
    found.set(id, { x: x + (around?.x ?? 0), y: y + (around?.y ?? 0), width, height });
  }
  return found;
}

export function extent(boxes: readonly Box[]): Room {
  const outer = boxes.filter((box) => !box.parent);
  return {
    width: outer.reduce((most, box) => Math.max(most, box.x + box.width), 1),
    height: outer.reduce((most, box) => Math.max(most, box.y + box.height), 1),
  };
}

export function fits(whole: Room, room: Room, zoom = READABLE): boolean {
  return whole.width * zoom <= room.width - 2 * MARGIN && whole.height * zoom <= room.height - 2 * MARGIN;
}

/** All of it if that can be read; else its beginning, level with `start`. */
export function fitted(whole: Room, start: Place | undefined, room: Room, most: number): Viewport {
  const wanted = Math.min((room.width - 2 * MARGIN) / whole.width, (room.height - 2 * MARGIN) / whole.height);
  const zoom = Math.min(most, Math.max(READABLE, wanted));
  const along = (size: number, space: number, at: number, length: number) => {
    const drawn = size * zoom;
    if (drawn <= space - 2 * MARGIN) return (space - drawn) / 2;
    const centered = space / 2 - (at + length / 2) * zoom;
    return Math.min(MARGIN, Math.max(space - MARGIN - drawn, centered));
  };
  return {
    x: along(whole.width, room.width, start?.x ?? 0, start?.width ?? 0),
    y: along(whole.height, room.height, start?.y ?? 0, start?.height ?? 0),
    zoom,
  };
}

/** The whole drawing, however small it becomes. */
export function overview(whole: Room, room: Room): Viewport {
  const zoom = Math.min(
    1,
    (room.width - 2 * MARGIN) / whole.width,
    (room.height - 2 * MARGIN) / whole.height,
  );
  return { x: (room.width - whole.width * zoom) / 2, y: (room.height - whole.height * zoom) / 2, zoom };
}

/** Moved by as little as brings the box into sight; the same value if it is. */
export function revealed(view: Viewport, box: Place, room: Room): Viewport {
  const by = (start: number, length: number, space: number) => {
    if (length > space - 2 * MARGIN) return MARGIN - start;
    if (start < MARGIN) return MARGIN - start;
    return start + length > space - MARGIN ? space - MARGIN - start - length : 0;
  };
  const x = by(box.x * view.zoom + view.x, box.width * view.zoom, room.width);
  const y = by(box.y * view.zoom + view.y, box.height * view.zoom, room.height);
  return x || y ? { ...view, x: view.x + x, y: view.y + y } : view;
}

export function centered(box: Place, room: Room, zoom: number): Viewport {
  return {
    x: room.width / 2 - (box.x + box.width / 2) * zoom,
    y: room.height / 2 - (box.y + box.height / 2) * zoom,
    zoom,
  };
}

/** After a new layout the same box stands where it stood on the screen. */
export function held(view: Viewport, before: Place, after: Place): Viewport {
  return {
    ...view,
    x: view.x + (before.x - after.x) * view.zoom,
    y: view.y + (before.y - after.y) * view.zoom,
  };
}

/** The first box of which something can be seen. */
export function inSight(all: ReadonlyMap<string, Place>, view: Viewport, room: Room): string | undefined {
  for (const [id, box] of all) {
    const left = box.x * view.zoom + view.x;
    const top = box.y * view.zoom + view.y;
    if (left >= 0 && top >= 0 && left < room.width && top < room.height) return id;
  }
  return undefined;
}
