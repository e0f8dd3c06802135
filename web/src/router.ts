/** The address as state: paths name views, queries hold filters, so that every view can be linked to. */

import { useEffect, useState } from "react";

const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", tell);

export function navigate(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  tell();
}

export function useAddress(): URL {
  const [address, setAddress] = useState(() => new URL(location.href));
  useEffect(() => {
    const listener = () => setAddress(new URL(location.href));
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return address;
}

/** Changes the query and nothing else; what is empty is left out. */
export function setQuery(changes: Record<string, string | null>, replace = true): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  navigate(url.pathname + url.search, replace);
}
