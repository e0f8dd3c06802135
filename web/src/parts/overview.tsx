import { useStore } from "@xyflow/react";
import { useEffect, useRef } from "react";

import type { Layout } from "../graph_layout";
import type { AnyPhase } from "../types";

const COLORS: Record<AnyPhase, string> = {
  Pending: "--wait",
  Running: "--run",
  Retrying: "--retry",
  Cancelling: "--cancel",
  Succeeded: "--ok",
  Failed: "--fail",
  Skipped: "--skip",
  Cancelled: "--cancel",
  Defined: "--wait",
};

interface Props {
  made: Layout;
  phaseOf: (id: string) => AnyPhase;
  isDim: (id: string) => boolean;
  chosen: string | null;
  words: string;
}

/** A big run from afar: shapes and colors on one canvas, because a thousand elements take seconds to make. */
export function Overview({ made, phaseOf, isDim, chosen, words }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [x, y, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen || !width || !height) return;
    const scale = window.devicePixelRatio || 1;
    element.width = width * scale;
    element.height = height * scale;
    // A probe resolves what light-dark() means here and now.
    const color = (name: string) => {
      element.style.color = `var(${name})`;
      return getComputedStyle(element).color;
    };
    const colors = new Map(Object.entries(COLORS).map(([phase, name]) => [phase, color(name)]));
    const corners = new Map<string, { x: number; y: number; width: number; height: number }>();
    for (const box of made.boxes) {
      const around = box.parent ? corners.get(box.parent) : undefined;
      corners.set(box.id, {
        x: box.x + (around?.x ?? 0),
        y: box.y + (around?.y ?? 0),
        width: box.width,
        height: box.height,
      });
    }
    pen.setTransform(scale * zoom, 0, 0, scale * zoom, scale * x, scale * y);
    pen.strokeStyle = color("--line");
    pen.lineWidth = 1 / zoom;
    pen.beginPath();
    for (const { source, target } of made.lines) {
      const from = corners.get(source);
      const to = corners.get(target);
      if (!from || !to) continue;
      pen.moveTo(from.x + from.width, from.y + from.height / 2);
      pen.lineTo(to.x, to.y + to.height / 2);
    }
    pen.stroke();
    for (const box of made.boxes) {
      const at = corners.get(box.id);
      if (!at) continue;
      const isFrame = box.what === "nested-frame" || box.what === "stack-frame";
      pen.globalAlpha = isDim(box.id) ? 0.12 : isFrame ? 0.25 : phaseOf(box.id) === "Pending" ? 0.4 : 0.85;
      pen.fillStyle = colors.get(phaseOf(box.id)) ?? "gray";
      pen.fillRect(at.x, at.y, at.width, at.height);
      if (box.id === chosen) {
        pen.globalAlpha = 1;
        pen.strokeStyle = color("--link");
        pen.lineWidth = 3 / zoom;
        pen.strokeRect(at.x, at.y, at.width, at.height);
      }
    }
    element.dataset["boxes"] = String(made.boxes.length);
  });
  return <canvas ref={canvas} className="far-view" role="img" aria-label={words} />;
}

/** The step at a place of the canvas. */
export function boxAt(made: Layout, x: number, y: number): string | null {
  const corners = new Map<string, [number, number]>();
  let found: string | null = null;
  for (const box of made.boxes) {
    const [left, top] = box.parent ? (corners.get(box.parent) ?? [0, 0]) : [0, 0];
    corners.set(box.id, [left + box.x, top + box.y]);
    const [ox, oy] = [left + box.x, top + box.y];
    if (x >= ox && x <= ox + box.width && y >= oy && y <= oy + box.height) found = box.id;
  }
  return found;
}
