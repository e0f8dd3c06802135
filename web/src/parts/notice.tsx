import type { ReactNode } from "react";

import { ApiProblem } from "../api";
import { span } from "../format";
import { useNow } from "../live";
import type { Connection } from "../live";
import { CopyIcon } from "./icons";

export function ProblemNotice({ problem }: { problem: Error }) {
  const fix = problem instanceof ApiProblem ? problem.fix : "";
  const all = problem instanceof ApiProblem ? problem.problems : [];
  return (
    <div className="notice bad" role="alert">
      <strong>{problem.message}</strong>
      {fix && <p>{fix}</p>}
      {all.length > 0 && (
        <ul>
          {all.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Something to type, with a button that copies it. */
export function Command({ children }: { children: string }) {
  return (
    <span className="command">
      <code>{children}</code>
      <CopyButton text={children} label={`Copy: ${children}`} />
    </span>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  return (
    <button
      type="button"
      className="copy"
      aria-label={label}
      title={label}
      onClick={(event) => {
        const button = event.currentTarget;
        void navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(() => {
          button.dataset["done"] = "yes";
          setTimeout(() => delete button.dataset["done"], 1200);
        });
      }}
    >
      <CopyIcon />
    </button>
  );
}

/** Shown while there is nothing to show yet: that the page works at it, for how long, and what to do if that is too long. */
export function Waiting({ what, since, rows = 6 }: { what: string; since: number; rows?: number }) {
  const now = useNow(true);
  const waited = (now - since) / 1000;
  return (
    <div className="waiting" role="status">
      <p>
        <span className="spinner" aria-hidden="true" /> {what}
        {waited > 2 ? ` for ${Math.floor(waited)}s` : ""}…
      </p>
      {waited > 4 && (
        <p className="quiet">
          The control plane does not answer yet. On this machine <Command>jangar status</Command> says whether it is up, and{" "}
          <Command>jangar up --detach</Command> starts it. The page goes on by itself.
        </p>
      )}
      <div className="skeleton" aria-hidden="true">
        {Array.from({ length: rows }, (_, index) => (
          <i key={index} style={{ width: `${92 - ((index * 17) % 40)}%` }} />
        ))}
      </div>
    </div>
  );
}

/** Whether what is shown is true now. */
export function Freshness({ connection }: { connection: Connection }) {
  if (connection.isLive) {
    return (
      <span className="fresh live" title="Changes are shown as they happen">
        <i aria-hidden="true" />
        live
      </span>
    );
  }
  return (
    <span className="fresh stale">
      <i aria-hidden="true" />
      connecting
    </span>
  );
}

const PATIENCE = 1.2;

/** Says that what is shown is old, and how old. */
export function Stale({ connection, hasData }: { connection: Connection; hasData: boolean }) {
  const now = useNow(!connection.isLive, 500);
  const silence = (now - connection.since) / 1000;
  if (connection.isLive || !hasData || silence < PATIENCE) return null;
  return (
    <div className="stale-notice" role="status">
      <b>Not connected.</b> What you see is {span(Math.floor(silence))} old; the page tries again by itself.
      {silence > 6 && (
        <>
          {" "}
          <Command>jangar status</Command> says whether the control plane is up.
        </>
      )}
    </div>
  );
}
