import { useRef } from "react";
import type { KeyboardEvent, ReactNode } from "react";

interface Props<T extends string> {
  label: string;
  tabs: readonly T[];
  titles?: Partial<Record<T, ReactNode>>;
  chosen: T;
  onChoose: (tab: T) => void;
  children?: ReactNode;
}

/** Tabs as screen readers know them: one stop, arrows between them. */
export function Tabs<T extends string>({ label, tabs, titles, chosen, onChoose, children }: Props<T>) {
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(chosen) + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div className="tabs">
      <div ref={list} className="tab-list" role="tablist" aria-label={label} onKeyDown={press}>
        {tabs.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            aria-selected={chosen === tab}
            tabIndex={chosen === tab ? 0 : -1}
            onClick={() => onChoose(tab)}
          >
            {titles?.[tab] ?? tab}
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}
