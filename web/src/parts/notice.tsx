import type { ReactNode } from "react";

import { ApiProblem } from "../api";
import { span } from "../format";
import { commandLine } from "../instance";
import { useNow, useSilence } from "../live";
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
          {all.map((item) => (
            <li key={item}>{item}</li>
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

/** Something to type, with a button that copies it. Commands of ours name the data directory where that is not the default. */
export function Command({ children }: { children: string }) {
  const command = commandLine(children);
  return (
    <span className="command">
      <code>{command}</code>
      <CopyButton text={command} label={`Copy: ${command}`} />
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
          The control plane does not answer. On this machine <Command>jangar status</Command> shows whether it
          is up, and <Command>jangar up --detach</Command> starts it. The page reconnects by itself.
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

/** Whether what is shown is true now: by the last message of the server, never by an attempt to connect. */
export function Freshness({ connection }: { connection: Connection }) {
  const { isLive, age } = useSilence(connection);
  if (isLive) {
    return (
      <span className="fresh live" title="The server sends changes as they happen">
        <i aria-hidden="true" />
        live
      </span>
    );
  }
  return (
    <span className="fresh stale">
      <i aria-hidden="true" />
      {age === null ? "connecting" : `not live, ${seconds(age)} old`}
    </span>
  );
}

const LONG = 6000;

function seconds(age: number): string {
  return age < 60_000 ? `${Math.floor(age / 1000)}s` : span(age / 1000);
}

/** Says that what is shown is old, and how old. */
export function Stale({ connection, hasData }: { connection: Connection; hasData: boolean }) {
  const { isLive, age } = useSilence(connection);
  if (isLive || !hasData || age === null) return null;
  return (
    <div className="stale-notice">
      <b role="status">Not live.</b> The server has sent nothing for{" "}
      <span className="silence">{seconds(age)}</span>. The page reconnects by itself.
      {age > LONG && (
        <>
          {" "}
          <Command>jangar status</Command> shows whether the control plane is up.
        </>
      )}
    </div>
  );
}
