import type { AnchorHTMLAttributes, ReactNode } from "react";

import { navigate } from "../router";

interface Props extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
  children: ReactNode;
}

/** A link that the page follows itself; with a modifier key the browser does, in a tab of its own. */
export function Link({ to, children, ...more }: Props) {
  return (
    <a
      {...more}
      href={to}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        navigate(to);
      }}
    >
      {children}
    </a>
  );
}

export function runHref(namespace: string, name: string): string {
  return `/runs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function orchestrationHref(namespace: string, name: string): string {
  return `/orchestrations/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
