import { useEffect, useState } from "react";
import type { ReactNode } from "react";

import { keepWidth, keptWidth, keyStep, panelWidth } from "../panel_width";

/** A panel next to the view, as wide as the user drags it. On a phone it covers the lower part of the screen. */
export function SidePanel({ label, children }: { label: string; children: ReactNode }) {
  const [width, setWidth] = useState(() => keptWidth(window.innerWidth));
  const [isDragged, setDragged] = useState(false);
  const resize = (wanted: number) => {
    const next = panelWidth(wanted, window.innerWidth);
    setWidth(next);
    keepWidth(next);
  };
  useEffect(() => {
    if (!isDragged) return;
    const drag = (event: PointerEvent) => resize(window.innerWidth - event.clientX);
    const drop = () => setDragged(false);
    window.addEventListener("pointermove", drag);
    window.addEventListener("pointerup", drop);
    return () => {
      window.removeEventListener("pointermove", drag);
      window.removeEventListener("pointerup", drop);
    };
  }, [isDragged]);
  return (
    <aside className="panel" aria-label={label} style={{ width }}>
      <div
        className={`panel-edge${isDragged ? " dragged" : ""}`}
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the panel"
        aria-valuenow={width}
        aria-valuemin={panelWidth(0, window.innerWidth)}
        aria-valuemax={panelWidth(Infinity, window.innerWidth)}
        tabIndex={0}
        title="Drag to resize"
        onPointerDown={(event) => {
          event.preventDefault();
          setDragged(true);
        }}
        onKeyDown={(event) => {
          const by = keyStep(event.key);
          if (by === null) return;
          event.preventDefault();
          resize(width + by);
        }}
      />
      {children}
    </aside>
  );
}
