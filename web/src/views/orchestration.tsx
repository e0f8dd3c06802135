import { lazy, Suspense, useEffect, useMemo, useState } from "react";

import { many, percent, span } from "../format";
import { useKeys } from "../keys";
import { NO_FILTERS, useAnswer, useNow, useRuns } from "../live";
import { HistoryChart } from "../parts/history_chart";
import { Command, Freshness, ProblemNotice, Stale, Waiting } from "../parts/notice";
import { RunTable } from "../parts/run_table";
import { StartDialog } from "../parts/start_dialog";
import { Tabs } from "../parts/tabs";
import { YamlText } from "../parts/yaml_text";
import { navigate, setQuery, useAddress } from "../router";
import { statistics } from "../statistics";
import type { KubeObject, OrchestrationDetail, Run, RunDetail, Step } from "../types";

const StepGraph = lazy(() => import("../parts/graph").then((module) => ({ default: module.StepGraph })));

const TABS = ["runs", "graph", "parameters", "yaml"] as const;
const TITLES = { runs: "Runs", graph: "Graph", parameters: "Parameters", yaml: "YAML" };
const EVERY = 10_000;
const NOTHING: ReadonlyMap<string, RunDetail> = new Map();
const NOBODY: ReadonlySet<string> = new Set();

export function OrchestrationView({ namespace, name }: { namespace: string; name: string }) {
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/orchestrations/${encodeURIComponent(name)}`;
  const { found, problem } = useAnswer<OrchestrationDetail>(path, "", EVERY);
  const filters = useMemo(() => ({ ...NO_FILTERS, namespace, orchestration: name }), [namespace, name]);
  const { runs, connection, hasMore, more } = useRuns(filters);
  const [since] = useState(Date.now());
  const [isStarting, setStarting] = useState(false);
  const now = useNow(true);
  const address = useAddress();
  const tab = TABS.find((each) => each === address.searchParams.get("view")) ?? "runs";
  useEffect(() => {
    document.title = `${name} · Jangar`;
  }, [name]);
  const view = (each: (typeof TABS)[number]) => setQuery({ view: each === "runs" ? null : each });
  useKeys({
    r: () => found && found.phase !== "Invalid" && setStarting(true),
    u: () => navigate("/orchestrations"),
    ...Object.fromEntries(TABS.map((each, index) => [String(index + 1), () => view(each)])),
  });
  if (!found) {
    return (
      <main className="page">
        <h1 className="lonely">{name}</h1>
        {problem ? <ProblemNotice problem={problem} /> : <Waiting what="Reading the orchestration" since={since} />}
        {problem && (
          <p>
            <Command>jangar get orchestrations</Command> shows what there is.
          </p>
        )}
      </main>
    );
  }
  const isInvalid = found.phase === "Invalid";
  return (
    <main className="one">
      <Stale connection={connection} hasData={runs !== null} />
      <div className="toolbar run-head">
        <div className="titles">
          <h1>{found.name}</h1>
          <span className="under">
            {found.namespace} · {many(found.steps, "step")}
            {found.description && ` · ${found.description}`}
          </span>
        </div>
        <span className="spring" />
        <Freshness connection={connection} />
        <div className="buttons">
          <button type="button" className="primary" title="Run it (r)" disabled={isInvalid} onClick={() => setStarting(true)}>
            Run
          </button>
        </div>
      </div>
      {isInvalid && <p className="message bad">Invalid: {found.message}</p>}
      <Tabs label="About the orchestration" tabs={TABS} titles={TITLES} chosen={tab} onChoose={view} />
      <div className="split">
        <div className={`view view-${tab}`} role="tabpanel" aria-label={TITLES[tab]}>
          {tab === "runs" && (
            <div className="orchestration-runs">
              <Numbers runs={runs ?? []} now={now} />
              {runs && runs.length > 0 && (
                <RunTable
                  runs={runs}
                  now={now}
                  at={-1}
                  picked={NOBODY}
                  onPick={() => navigate(`/?orchestration=${name}`)}
                  onEnd={() => hasMore && more()}
                  hasNamespaces={false}
                />
              )}
            </div>
          )}
          {tab === "graph" && <DefinitionGraph found={found} now={now} />}
          {tab === "parameters" && <Parameters found={found} />}
          {tab === "yaml" && <Yaml namespace={namespace} name={name} />}
        </div>
      </div>
      {isStarting && <StartDialog orchestration={found} onClose={() => setStarting(false)} />}
    </main>
  );
}

function Numbers({ runs, now }: { runs: readonly Run[]; now: number }) {
  const told = statistics(runs);
  if (!runs.length) {
    return <p className="quiet padded">It has not run yet: the button starts it, and so does kubectl or jangar run.</p>;
  }
  return (
    <div className="numbers">
      <dl>
        <Number name="succeeded" value={told.rate === null ? "–" : percent(told.rate)} />
        <Number name="usually takes" value={told.median === null ? "–" : span(told.median)} />
        <Number name="19 of 20 within" value={told.p95 === null ? "–" : span(told.p95)} />
        <Number name="ended" value={told.ended.toLocaleString("en")} />
      </dl>
      <HistoryChart runs={runs} now={now} />
    </div>
  );
}

function Number({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function DefinitionGraph({ found, now }: { found: OrchestrationDetail; now: number }) {
  const graph = found.graph;
  const run = useMemo(() => ({ steps: graph ? definitionSteps(graph) : [] }), [graph]);
  if (!graph) return <p className="quiet padded">It cannot be drawn: {found.message || "it is not valid"}.</p>;
  return (
    <Suspense fallback={<p className="quiet padded">…</p>}>
      <StepGraph run={run} nested={NOTHING} chosen={null} now={now} find="" onChoose={() => {}} onOpen={null} />
    </Suspense>
  );
}

/** Steps that nobody has run. */
function definitionSteps(graph: NonNullable<OrchestrationDetail["graph"]>): Step[] {
  const needs = new Map<string, string[]>(graph.nodes.map((node) => [node.name, []]));
  for (const edge of graph.edges) needs.get(edge.target)?.push(edge.source);
  return graph.nodes.map((node) => ({
    name: node.name,
    kind: node.kind,
    phase: "Pending",
    reason: "",
    sentence: needs.get(node.name)?.length ? `needs ${needs.get(node.name)?.join(", ")}` : "needs nothing: it starts at once",
    attempt: 0,
    attempts: [],
    child: null,
    dependsOn: needs.get(node.name) ?? [],
    causes: [],
    outputs: {},
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    failureIgnored: false,
  }));
}

function Parameters({ found }: { found: OrchestrationDetail }) {
  if (!found.parameters.length) return <p className="quiet padded">It declares no parameters.</p>;
  return (
    <div className="scroll">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Default</th>
            <th scope="col">One of</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {found.parameters.map((each) => (
            <tr key={each.name}>
              <th scope="row">{each.name}</th>
              <td>{each.default ?? (each.required ? "required" : "")}</td>
              <td>{each.enum?.join(", ") ?? ""}</td>
              <td>{each.description ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Yaml({ namespace, name }: { namespace: string; name: string }) {
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/kinds/orchestrations/${encodeURIComponent(name)}`;
  const { found, problem } = useAnswer<{ object: KubeObject }>(path);
  if (problem) return <ProblemNotice problem={problem} />;
  return found ? <YamlText value={found.object} label={`Orchestration ${name}`} /> : <p className="quiet padded">…</p>;
}
