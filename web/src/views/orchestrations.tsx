import { useEffect, useMemo, useState } from "react";

import { many, percent, span } from "../format";
import { useAnswer, useNow } from "../live";
import { HistoryChart } from "../parts/history_chart";
import { Link, orchestrationHref } from "../parts/link";
import { Command, Empty, ProblemNotice, Stale, Waiting } from "../parts/notice";
import { StartDialog } from "../parts/start_dialog";
import { setQuery, useAddress } from "../router";
import { statistics } from "../statistics";
import type { Orchestration, Run, RunPage } from "../types";

const EVERY = 5000;

export function OrchestrationsView() {
  const { found, problem, connection } = useAnswer<{ items: Orchestration[] }>(
    "/v1/orchestrations",
    "",
    EVERY,
  );
  const { found: recent } = useAnswer<RunPage>("/v1/runs?limit=1000&nested=true", "", EVERY);
  const [starting, setStarting] = useState<Orchestration | null>(null);
  const [since] = useState(() => Date.now());
  const now = useNow(true, EVERY);
  const text = useAddress().searchParams.get("q") ?? "";
  useEffect(() => {
    document.title = "Orchestrations · Jangar";
  }, []);
  const byName = useMemo(() => {
    const runs = new Map<string, Run[]>();
    for (const run of recent?.items ?? []) {
      const key = `${run.namespace}/${run.orchestration ?? ""}`;
      runs.set(key, [...(runs.get(key) ?? []), run]);
    }
    return runs;
  }, [recent]);
  const asked = text.toLowerCase();
  const shown = found?.items.filter((item) =>
    `${item.namespace}/${item.name} ${item.description}`.toLowerCase().includes(asked),
  );
  return (
    <main className="page">
      <Stale connection={connection} hasData={found !== null} />
      <div className="toolbar">
        <h1>Orchestrations</h1>
        {found && found.items.length > 8 && (
          <input
            type="search"
            placeholder="Search"
            aria-label="Search orchestrations"
            value={text}
            onChange={(event) => setQuery({ q: event.target.value })}
          />
        )}
      </div>
      {problem && !found && <ProblemNotice problem={problem} />}
      {!found && !problem && <Waiting what="Reading the orchestrations" since={since} />}
      {shown && !shown.length && (
        <Empty title={text ? "No orchestration matches" : "No orchestration exists yet"}>
          {!text && <Command>jangar apply -f examples/01-hello-dag</Command>}
        </Empty>
      )}
      <ul className="cards">
        {shown?.map((entry) => (
          <Card
            key={`${entry.namespace}/${entry.name}`}
            orchestration={entry}
            runs={byName.get(`${entry.namespace}/${entry.name}`) ?? []}
            now={now}
            onStart={() => setStarting(entry)}
          />
        ))}
      </ul>
      {starting && <StartDialog orchestration={starting} onClose={() => setStarting(null)} />}
    </main>
  );
}

interface CardProps {
  orchestration: Orchestration;
  runs: Run[];
  now: number;
  onStart: () => void;
}

function Card({ orchestration, runs, now, onStart }: CardProps) {
  const told = statistics(runs);
  const isInvalid = orchestration.phase === "Invalid";
  return (
    <li className="card">
      <h2>
        <Link to={orchestrationHref(orchestration.namespace, orchestration.name)}>{orchestration.name}</Link>
      </h2>
      <p className="under">
        {orchestration.namespace} · {many(orchestration.steps, "step")}
        {orchestration.parameters.length > 0 && ` · ${many(orchestration.parameters.length, "parameter")}`}
      </p>
      {isInvalid && <p className="bad">Invalid: {orchestration.message}</p>}
      {!isInvalid && orchestration.description && <p>{orchestration.description}</p>}
      <HistoryChart runs={runs} now={now} isSmall />
      {told.rate !== null && (
        <p className="under">
          {percent(told.rate)} of {told.succeeded + told.failed} succeeded
          {told.median !== null && `, median ${span(told.median)}`}
        </p>
      )}
      <div className="buttons left">
        <button type="button" className="primary" disabled={isInvalid} onClick={onStart}>
          Run
        </button>
        <Link className="button" to={`/?orchestration=${orchestration.name}&nested=yes`}>
          Runs
        </Link>
      </div>
    </li>
  );
}
