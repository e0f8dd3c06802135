import { lazy, Suspense, useEffect, useMemo, useState } from "react";

import { many, percent, span } from "../format";
import { useKeys } from "../keys";
import { NO_FILTERS, useAnswer, useNow, useRuns } from "../live";
import { DefinedStep } from "../parts/defined_step";
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
const NOTHING_PICKED: ReadonlySet<string> = new Set();

export function OrchestrationView({ namespace, name }: { namespace: string; name: string }) {
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/orchestrations/${encodeURIComponent(name)}`;
  const { found, problem } = useAnswer<OrchestrationDetail>(path, "", EVERY);
  // A run that is a step of another is a run of this orchestration as well.
  const filters = useMemo(
    () => ({ ...NO_FILTERS, namespace, orchestration: name, nested: true }),
    [namespace, name],
  );
  const { runs, connection, hasMore, more } = useRuns(filters);
  const [since] = useState(() => Date.now());
  const [isStarting, setStarting] = useState(false);
  const now = useNow(true);
  const address = useAddress();
  const tab = TABS.find((item) => item === address.searchParams.get("view")) ?? "runs";
  const opened = (address.searchParams.get("open") ?? "").split(",").filter(Boolean);
  const chosen = address.searchParams.get("step");
  const graph = found?.graph;
  const run = useMemo(() => (graph ? { steps: definitionSteps(graph) } : null), [graph]);
  const step = tab === "graph" ? run?.steps.find((entry) => entry.name === chosen) : undefined;
  useEffect(() => {
    document.title = `${name} · Jangar`;
  }, [name]);
  const view = (element: (typeof TABS)[number]) => setQuery({ view: element === "runs" ? null : element });
  useKeys({
    r: () => found && found.phase !== "Invalid" && setStarting(true),
    u: () => navigate("/orchestrations"),
    Escape: () => setQuery({ step: null }),
    ...Object.fromEntries(TABS.map((candidate, index) => [String(index + 1), () => view(candidate)])),
  });
  if (!found) {
    return (
      <main className="page">
        <h1 className="lonely">{name}</h1>
        {problem ? (
          <ProblemNotice problem={problem} />
        ) : (
          <Waiting what="Reading the orchestration" since={since} />
        )}
        {problem && (
          <p>
            <Command>jangar get orchestrations</Command> shows the orchestrations that exist.
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
          <button
            type="button"
            className="primary"
            title="Run it (r)"
            disabled={isInvalid}
            onClick={() => setStarting(true)}
          >
            Run
          </button>
        </div>
      </div>
      {isInvalid && <p className="message bad">Invalid: {found.message}</p>}
      <Tabs label="About the orchestration" tabs={TABS} titles={TITLES} chosen={tab} onChoose={view} />
      <div className={`split${step ? " with-panel" : ""}`}>
        <div className={`view view-${tab}`} role="tabpanel" aria-label={TITLES[tab]}>
          {tab === "runs" && (
            <div className="orchestration-runs">
              <Numbers runs={runs ?? []} now={now} />
              {runs && runs.length > 0 && (
                <RunTable
                  runs={runs}
                  now={now}
                  at={-1}
                  picked={NOTHING_PICKED}
                  onPick={() => navigate(`/?orchestration=${name}&nested=yes`)}
                  onEnd={() => hasMore && more()}
                  hasNamespaces={false}
                />
              )}
            </div>
          )}
          {tab === "graph" && !run && (
            <p className="quiet padded">
              The graph cannot be drawn: {found.message || "the orchestration is not valid"}.
            </p>
          )}
          {tab === "graph" && run && (
            <Suspense fallback={<p className="quiet padded">…</p>}>
              <StepGraph
                run={run}
                nested={NOTHING}
                opened={opened}
                chosen={chosen}
                now={now}
                find=""
                isDefinition
                onChoose={(one) => setQuery({ step: one })}
                onOpen={(id) =>
                  setQuery({
                    open: (opened.includes(id) ? opened.filter((one) => one !== id) : [...opened, id]).join(
                      ",",
                    ),
                  })
                }
              />
            </Suspense>
          )}
          {tab === "parameters" && <Parameters found={found} />}
          {tab === "yaml" && <Yaml namespace={namespace} name={name} />}
        </div>
        {step && run && (
          <DefinedStep
            key={step.name}
            namespace={namespace}
            orchestration={name}
            step={step}
            steps={run.steps}
            onChoose={(one) => setQuery({ step: one })}
            onClose={() => setQuery({ step: null })}
          />
        )}
      </div>
      {isStarting && <StartDialog orchestration={found} onClose={() => setStarting(false)} />}
    </main>
  );
}

function Numbers({ runs, now }: { runs: readonly Run[]; now: number }) {
  const told = statistics(runs);
  if (!runs.length) {
    return <p className="quiet padded">This orchestration has not run yet. The Run button starts it.</p>;
  }
  return (
    <div className="numbers">
      <dl>
        <Number name="succeeded" value={told.rate === null ? "–" : percent(told.rate)} />
        <Number name="median" value={told.median === null ? "–" : span(told.median)} />
        <Number name="p95" value={told.p95 === null ? "–" : span(told.p95)} />
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

/** Steps that were never run. */
function definitionSteps(graph: NonNullable<OrchestrationDetail["graph"]>): Step[] {
  const needs = new Map<string, string[]>(graph.nodes.map((node) => [node.name, []]));
  for (const edge of graph.edges) needs.get(edge.target)?.push(edge.source);
  return graph.nodes.map((node) => ({
    name: node.name,
    kind: node.kind,
    phase: "Pending",
    reason: "",
    sentence: needs.get(node.name)?.length
      ? `starts after ${needs.get(node.name)?.join(", ")}`
      : "starts first: it depends on no other step",
    attempt: 0,
    attempts: [],
    child: null,
    dependsOn: needs.get(node.name) ?? [],
    causes: [],
    outputs: {},
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    durationSeconds: null,
    failureIgnored: false,
  }));
}

function Parameters({ found }: { found: OrchestrationDetail }) {
  if (!found.parameters.length) return <p className="quiet padded">This orchestration has no parameters.</p>;
  return (
    <div className="scroll">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Default</th>
            <th scope="col">One of</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          {found.parameters.map((parameter) => (
            <tr key={parameter.name}>
              <th scope="row">{parameter.name}</th>
              <td>{parameter.default ?? (parameter.required ? "required" : "")}</td>
              <td>{parameter.enum?.join(", ") ?? ""}</td>
              <td>{parameter.description ?? ""}</td>
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
  return found ? (
    <YamlText value={found.object} label={`Orchestration ${name}`} />
  ) : (
    <p className="quiet padded">…</p>
  );
}
