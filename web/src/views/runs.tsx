import { useEffect, useMemo, useRef, useState } from "react";

import { post, runPath } from "../api";
import { many } from "../format";
import { useKeys } from "../keys";
import { useNow, useRuns } from "../live";
import type { Filters } from "../live";
import { Confirm } from "../parts/confirm";
import { runHref } from "../parts/link";
import { Command, Empty, Freshness, ProblemNotice, Stale, Waiting } from "../parts/notice";
import { RunTable } from "../parts/run_table";
import { navigate, setQuery, useAddress } from "../router";
import { isOver } from "../steps";
import { RUN_PHASES } from "../types";
import type { Run } from "../types";

const WITHIN: readonly [string, number][] = [
  ["any time", 0],
  ["last hour", 3600],
  ["last day", 86400],
  ["last week", 604800],
  ["last 30 days", 2592000],
];
const TYPING = 150;

export function RunsView() {
  const asked = useAddress().searchParams;
  const filters: Filters = {
    text: asked.get("q") ?? "",
    phases: (asked.get("phase") ?? "").split(",").filter(Boolean),
    namespace: asked.get("namespace") ?? "",
    orchestration: asked.get("orchestration") ?? "",
    within: Number(asked.get("within")) || 0,
    nested: asked.get("nested") === "yes",
  };
  const { runs, problem, connection, hasMore, more } = useRuns(filters);
  const now = useNow(true);
  const [since] = useState(() => Date.now());
  const [at, setAt] = useState(-1);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [isAsking, setAsking] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const shown = runs ?? [];
  const namespaces = useMemo(() => [...new Set((runs ?? []).map((run) => run.namespace))].sort(), [runs]);
  const chosen = shown.filter((run) => picked.has(run.uid) && !isOver(run));
  const isFiltered = Boolean(
    filters.text ||
    filters.phases.length ||
    filters.namespace ||
    filters.orchestration ||
    filters.within ||
    filters.nested,
  );
  const show = (run: Run) => navigate(runHref(run.namespace, run.name));

  useEffect(() => {
    document.title = "Runs · Jangar";
  }, []);
  // The address follows the typing, the list follows the address; Back empties the field again.
  const typing = useRef(0);
  useEffect(() => {
    if (search.current && search.current !== document.activeElement) search.current.value = filters.text;
  }, [filters.text]);

  const pick = (some: readonly Run[], isPicked: boolean) => {
    const next = new Set(picked);
    for (const run of some) {
      if (isPicked) next.add(run.uid);
      else next.delete(run.uid);
    }
    setPicked(next);
  };
  useKeys({
    "/": () => search.current?.focus(),
    j: () => setAt((place) => Math.min(place + 1, shown.length - 1)),
    k: () => setAt((place) => Math.max(place - 1, 0)),
    x: () => {
      const run = shown[at];
      if (run && !isOver(run)) pick([run], !picked.has(run.uid));
    },
    c: () => chosen.length > 0 && setAsking(true),
    Enter: () => {
      const run = shown[at];
      if (run) show(run);
    },
  });
  const toggle = (phase: string) => {
    const without = filters.phases.filter((item) => item !== phase);
    const phases = without.length < filters.phases.length ? without : [...filters.phases, phase];
    setQuery({ phase: phases.join(",") });
  };

  return (
    <main className="runs">
      <Stale connection={connection} hasData={runs !== null} />
      <div className="toolbar">
        <h1>Runs</h1>
        <input
          ref={search}
          type="search"
          placeholder="Search  ( / )"
          aria-label="Search runs"
          defaultValue={filters.text}
          onChange={(event) => {
            const text = event.target.value;
            clearTimeout(typing.current);
            typing.current = window.setTimeout(() => setQuery({ q: text }), TYPING);
          }}
        />
        <div className="chips" role="group" aria-label="Phases">
          {RUN_PHASES.map((phase) => (
            <button
              key={phase}
              type="button"
              className={`chip phase-${phase}`}
              aria-pressed={filters.phases.includes(phase)}
              onClick={() => toggle(phase)}
            >
              {phase}
            </button>
          ))}
        </div>
        <select
          aria-label="Created"
          value={filters.within}
          onChange={(event) => setQuery({ within: event.target.value === "0" ? null : event.target.value })}
        >
          {WITHIN.map(([words, seconds]) => (
            <option key={seconds} value={seconds}>
              {words}
            </option>
          ))}
        </select>
        {(namespaces.length > 1 || filters.namespace) && (
          <select
            aria-label="Namespace"
            value={filters.namespace}
            onChange={(event) => setQuery({ namespace: event.target.value })}
          >
            <option value="">all namespaces</option>
            {[...new Set([...namespaces, ...(filters.namespace ? [filters.namespace] : [])])].map((entry) => (
              <option key={entry}>{entry}</option>
            ))}
          </select>
        )}
        <button
          type="button"
          className="chip"
          aria-pressed={filters.nested}
          title="Also show runs that are a step of another run"
          onClick={() => setQuery({ nested: filters.nested ? null : "yes" })}
        >
          Nested runs
        </button>
        {filters.orchestration && (
          <button
            type="button"
            className="chip"
            aria-pressed="true"
            onClick={() => setQuery({ orchestration: null })}
          >
            {filters.orchestration} <span aria-hidden="true">×</span>
            <span className="hidden">: show runs of all orchestrations</span>
          </button>
        )}
        <span className="spring" />
        {chosen.length > 0 && (
          <button type="button" className="danger" onClick={() => setAsking(true)}>
            Cancel {chosen.length}
          </button>
        )}
        {runs && <Freshness connection={connection} />}
      </div>
      {problem && problem.status !== 0 && <ProblemNotice problem={problem} />}
      {!runs && (!problem || problem.status === 0) && (
        <Waiting what="Connecting to the control plane" since={since} rows={8} />
      )}
      {runs && !runs.length && (
        <Empty title={isFiltered ? "No run matches" : "Nothing has run yet"}>
          {isFiltered ? (
            <button type="button" onClick={() => navigate("/")}>
              Show all runs
            </button>
          ) : (
            <>
              <p>Start a run here or in a terminal. It appears here by itself.</p>
              <Command>jangar run examples/01-hello-dag</Command>
            </>
          )}
        </Empty>
      )}
      {shown.length > 0 && (
        <RunTable
          runs={shown}
          now={now}
          at={at}
          picked={picked}
          onPick={pick}
          onEnd={() => hasMore && more()}
          hasNamespaces={namespaces.length > 1}
        />
      )}
      {isAsking && (
        <Confirm
          title={`Cancel ${many(chosen.length, "run")}?`}
          yes="Cancel them"
          danger
          onClose={() => setAsking(false)}
          onYes={async () => {
            await Promise.all(chosen.map((run) => post(`${runPath(run.namespace, run.name)}/cancel`)));
            setPicked(new Set());
          }}
        >
          <p>Their running steps are stopped and no further step starts. A cancel cannot be undone.</p>
          <ul className="names">
            {chosen.slice(0, 10).map((run) => (
              <li key={run.uid}>
                {run.name}{" "}
                <span className="under">
                  {run.stepsEnded} of {many(run.stepsTotal, "step")} ended
                </span>
              </li>
            ))}
            {chosen.length > 10 && <li>and {chosen.length - 10} more</li>}
          </ul>
        </Confirm>
      )}
    </main>
  );
}
