import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";

interface Props<T> {
  items: readonly T[];
  height: number;
  row: (item: T, index: number) => ReactNode;
  /** Brought into sight when it changes. */
  at: number;
  onEnd?: () => void;
  role: "rowgroup" | "list";
  label?: string;
}

const BEYOND = 8;

/** Draws only the rows that can be seen, so that ten thousand scroll as smoothly as ten. */
export function VirtualList<T>({ items, height, row, at, onEnd, role, label }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setRoom(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || at < 0) return;
    const bottom = element.scrollTop + element.clientHeight;
    if (at * height < element.scrollTop) element.scrollTop = at * height;
    else if ((at + 1) * height > bottom) element.scrollTop = (at + 1) * height - element.clientHeight;
  }, [at, height]);
  const first = Math.max(0, Math.floor(top / height) - BEYOND);
  const last = Math.min(items.length, Math.ceil((top + room) / height) + BEYOND);
  return (
    <div
      ref={box}
      className="virtual"
      role="presentation"
      onScroll={(event) => {
        const element = event.currentTarget;
        setTop(element.scrollTop);
        if (element.scrollHeight - element.scrollTop - element.clientHeight < 600) onEnd?.();
      }}
    >
      <div role="presentation" style={{ height: items.length * height, position: "relative" }}>
        <div
          role={role}
          aria-label={label}
          style={{ position: "absolute", top: first * height, left: 0, right: 0 }}
        >
          {items.slice(first, last).map((item, index) => row(item, first + index))}
        </div>
      </div>
    </div>
  );
}
