/** Keys of a view. They are off while the user types, or a dialog is open. `g r` is g, then r. */

import { useEffect, useRef } from "react";

const SEQUENCE = 900;

export function useKeys(keys: Record<string, () => void>): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    let before = "";
    let since = 0;
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const isTyping =
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== "checkbox";
      if (isTyping && event.key === "Escape") return target.blur();
      if (isTyping || (/^(Enter| )$/.test(event.key) && /^(BUTTON|A|SUMMARY)$/.test(target.tagName))) return;
      const both = Date.now() - since < SEQUENCE ? `${before} ${event.key}` : "";
      const act = now.current[both] ?? (before === "g" && both ? undefined : now.current[event.key]);
      before = event.key;
      since = Date.now();
      if (act) {
        before = "";
        event.preventDefault();
        act();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
