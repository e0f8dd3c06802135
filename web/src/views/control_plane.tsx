import { useEffect, useState } from "react";

import { headers } from "../api";
import { age, ahead, clock, many, span } from "../format";
import { useAnswer, useNow } from "../live";
import { bound, samples, total } from "../metrics";
import type { Sample } from "../metrics";
import { Link, runHref } from "../parts/link";
import { Command, ProblemNotice, Stale, Waiting } from "../parts/notice";
import type { ControlPlane, Expiring, Holder } from "../types";

const EVERY = 3000;
const SHOWN = 8;

export function ControlPlaneView() {
  const { found, problem, connection } = useAnswer<ControlPlane>("/v1/control-plane/status", "", EVERY);
  const { found: summary } = useAnswer<{ runs: Record<string, number> }>("/v1/summary", "", EVERY);
  const { found: kept } = useAnswer<{ items: Expiring[] }>("/v1/retention", "", EVERY * 4);
  const all = useMetrics();
  const now = useNow(true, EVERY);
  const [since] = useState(() => Date.now());
  useEffect(() => {
    document.title = "Control plane · Jangar";
  }, []);
  const isWell = found?.parts.every((part) => part.well) && found.history !== "unreachable";
  return (
    <main className="page">
      <Stale connection={connection} hasData={found !== null} />
      <div className="toolbar">
        <h1>Control plane</h1>
        {found && (
          <span className={`verdict ${isWell ? "good" : "bad"}`}>
            {isWell ? "✓ healthy" : "✕ not healthy"}
          </span>
        )}
        <span className="spring" />
        {found && <span className="under">jangar {found.version}</span>}
      </div>
      {problem && !found && <ProblemNotice problem={problem} />}
      {!found && <Waiting what="Reading the state of the control plane" since={since} />}
      {found && (
        <ul className="cards health-cards">
          <Parts plane={found} />
          <Runs runs={summary?.runs ?? {}} />
          <Queues all={all} />
          <Api all={all} />
          <History plane={found} all={all} />
          <Kept items={kept?.items ?? []} now={now} />
          <Holders holders={found.controllers} now={now} />
          <Kinds plane={found} />
          <Runtimes plane={found} />
        </ul>
      )}
    </main>
  );
}

function useMetrics(): Sample[] {
  const [found, setFound] = useState<Sample[]>([]);
  useEffect(() => {
    let timer = 0;
    let ended = false;
    const look = async () => {
      try {
        const answer = await fetch("/metrics", { headers: headers() });
        if (answer.ok && !ended) setFound(samples(await answer.text()));
      } catch {
        // Read again after the pause.
      }
      if (!ended) timer = window.setTimeout(() => void look(), EVERY);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, []);
  return found;
}

function Parts({ plane }: { plane: ControlPlane }) {
  return (
    <li className="card">
      <h2>Parts</h2>
      <ul className="health">
        {plane.parts.map((part) => (
          <li key={part.name}>
            <span className={part.well ? "good" : "bad"} aria-hidden="true">
              {part.well ? "✓" : "✕"}
            </span>
            <span>
              {part.name}
              <span className="hidden">{part.well ? " is healthy" : " is not healthy"}</span>
              {part.problems.map((problem) => (
                <p key={problem} className="under bad">
                  {problem}
                </p>
              ))}
            </span>
          </li>
        ))}
      </ul>
      <p className="under">
        {plane.namespaces ? `Namespaces: ${plane.namespaces.join(", ")}` : "All namespaces"} ·{" "}
        {many(plane.watchers, "client follows", "clients follow")} the runs
      </p>
    </li>
  );
}

function Runs({ runs }: { runs: Record<string, number> }) {
  return (
    <li className="card">
      <h2>Runs</h2>
      <dl>
        {Object.entries(runs).map(([phase, count]) => (
          <div key={phase}>
            <dt>
              <Link className={`phase-${phase}`} to={`/?phase=${phase}`}>
                {phase}
              </Link>
            </dt>
            <dd>{count.toLocaleString("en")}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

function shortly(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds === Infinity) return "> max";
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : span(seconds);
}

/** What the controllers have to do, and how long a pass takes. On a cluster they may be another process: then it is not here. */
function Queues({ all }: { all: Sample[] }) {
  const names = [
    ...new Set(
      all
        .filter((item) => item.name === "jangar_workqueue_depth")
        .map((entry) => entry.labels["controller"] ?? ""),
    ),
  ];
  if (!names.length) return null;
  const isIdle = (controller: string) =>
    !total(all, "jangar_workqueue_depth", { controller }) &&
    !total(all, "jangar_reconcile_total", { controller });
  const busy = names.filter((controller) => !isIdle(controller));
  return (
    <li className="card wide">
      <h2>Controllers and their queues</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Controllers and their queues">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Controller</th>
              <th scope="col" className="number">
                Waiting
              </th>
              <th scope="col" className="number">
                Oldest
              </th>
              <th scope="col" className="number">
                Reconciles
              </th>
              <th scope="col" className="number">
                p95
              </th>
            </tr>
          </thead>
          <tbody>
            {busy.map((controller) => {
              const of = { controller };
              return (
                <tr key={controller}>
                  <th scope="row">{controller}</th>
                  <td className="number">{total(all, "jangar_workqueue_depth", of)}</td>
                  <td className="number">{shortly(total(all, "jangar_workqueue_oldest_age_seconds", of))}</td>
                  <td className="number">{total(all, "jangar_reconcile_total", of).toLocaleString("en")}</td>
                  <td className="number">
                    {shortly(bound(all, "jangar_reconcile_duration_seconds", 0.95, of))}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {busy.length < names.length && (
        <p className="under">Without work so far: {names.filter(isIdle).join(", ")}</p>
      )}
    </li>
  );
}

function Api({ all }: { all: Sample[] }) {
  const requests = all.filter((item) => item.name === "jangar_api_requests_total");
  const refused = requests
    .filter((request) => /^5|^429|^$/.test(request.labels["code"] ?? ""))
    .reduce((sum, entry) => sum + entry.value, 0);
  const ages = all
    .filter((element) => element.name === "jangar_informer_age_seconds")
    .map((candidate) => candidate.value);
  return (
    <li className="card">
      <h2>Kubernetes API</h2>
      <dl>
        <Row name="Requests" value={total(all, "jangar_api_requests_total").toLocaleString("en")} />
        <Row name="Failed (5xx, 429)" value={refused.toLocaleString("en")} isBad={refused > 0} />
        <Row name="p95" value={shortly(bound(all, "jangar_api_request_duration_seconds", 0.95))} />
        <Row name="Watches" value={many(ages.length, "kind")} />
        <Row name="Oldest watch message" value={ages.length ? shortly(Math.max(...ages)) : "–"} />
      </dl>
    </li>
  );
}

function Row({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={isBad ? "bad" : ""}>{value}</dd>
    </div>
  );
}

const HISTORY: Record<string, string> = {
  off: "Off: deleting a run deletes its record.",
  well: "✓ Records of ended runs are stored.",
  unreachable: "✕ The database does not answer. No run is deleted until it does.",
};

function History({ plane, all }: { plane: ControlPlane; all: Sample[] }) {
  const waiting = total(all, "jangar_history_pending_rows");
  return (
    <li className="card">
      <h2>History</h2>
      <p className={plane.history === "unreachable" ? "bad" : plane.history === "well" ? "good" : ""}>
        {HISTORY[plane.history] ?? plane.history}
      </p>
      <dl>
        <Row name="Rows stored" value={total(all, "jangar_history_rows_stored_total").toLocaleString("en")} />
        <Row name="Waiting to be stored" value={waiting.toLocaleString("en")} />
        <Row name="Audit rows waiting" value={plane.auditWaiting.toLocaleString("en")} />
        <Row
          name="Failures"
          value={total(all, "jangar_history_failures_total").toLocaleString("en")}
          isBad={total(all, "jangar_history_failures_total") > 0}
        />
      </dl>
    </li>
  );
}

function Kept({ items, now }: { items: Expiring[]; now: number }) {
  const next = items.filter((item) => item.retention.runExpiresAt).slice(0, SHOWN);
  return (
    <li className="card">
      <h2>Next deletions</h2>
      {!next.length && <p className="quiet">Nothing scheduled for deletion.</p>}
      <dl>
        {next.map((entry) => (
          <div key={`${entry.namespace}/${entry.name}`}>
            <dt>
              <Link to={runHref(entry.namespace, entry.name)}>{entry.name}</Link>
            </dt>
            <dd title={clock(entry.retention.runExpiresAt ?? "")}>
              {ahead(entry.retention.runExpiresAt ?? "", now)}
            </dd>
          </div>
        ))}
      </dl>
      {items.length > next.length && (
        <p className="under">
          and {items.length - next.length} more: <Command>jangar retention</Command>
        </p>
      )}
    </li>
  );
}

/** On a laptop one process acts alone, and there is nothing to share. */
function Holders({ holders, now }: { holders: Holder[]; now: number }) {
  if (!holders.length) return null;
  return (
    <li className="card wide">
      <h2>Controller replicas</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Controller replicas">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col">Version</th>
              <th scope="col" className="number">
                Shards
              </th>
              <th scope="col" className="number">
                Last renewed
              </th>
            </tr>
          </thead>
          <tbody>
            {holders.map((holder) => (
              <tr key={holder.name}>
                <th scope="row">{holder.name}</th>
                <td>{holder.version}</td>
                <td className="number">{holder.shards}</td>
                <td className={`number ${holder.alive ? "" : "bad"}`} title={clock(holder.renewedAt)}>
                  {holder.renewedAt ? age(holder.renewedAt, now) : "–"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </li>
  );
}

function Runtimes({ plane }: { plane: ControlPlane }) {
  return (
    <li className="card">
      <h2>Agent runtimes</h2>
      <ul className="health">
        {plane.runtimes.map((runtime) => (
          <li key={runtime.name}>
            <span className={runtime.available ? "good" : "quiet"} aria-hidden="true">
              {runtime.available ? "✓" : "–"}
            </span>
            <span>
              {runtime.name}
              {runtime.message && <p className="under">{runtime.message}</p>}
            </span>
          </li>
        ))}
      </ul>
    </li>
  );
}

function Kinds({ plane }: { plane: ControlPlane }) {
  const missing = plane.crds.filter((crd) => !crd.served);
  return (
    <li className="card">
      <h2>Kinds</h2>
      {!missing.length && <p className="good">✓ {many(plane.crds.length, "kind")} served</p>}
      {missing.length > 0 && (
        <>
          <p className="bad">
            ✕ {missing.length} of {many(plane.crds.length, "kind")} not served:{" "}
            <Command>jangar crds install</Command>
          </p>
          <p className="under">{missing.map((item) => `${item.kind} (${item.group})`).join(", ")}</p>
        </>
      )}
    </li>
  );
}
