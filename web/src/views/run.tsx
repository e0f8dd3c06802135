import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";

import { post, runPath } from "../api";
import { age, clock, duration, many, until } from "../format";
import { useKeys } from "../keys";
import { useAnswer, useNested, useNow, useRun } from "../live";
import { EventList } from "../parts/event_list";
import { Link, orchestrationHref, runHref } from "../parts/link";
import { Command, Empty, Freshness, ProblemNotice, Stale, Waiting } from "../parts/notice";
import { PhaseBadge, Progress } from "../parts/phase";
import { RunAbout } from "../parts/run_about";
import { RunDialogs } from "../parts/run_dialogs";
import type { Asking } from "../parts/run_dialogs";
import { sortOf, StepList } from "../parts/step_list";
import { StepPanel } from "../parts/step_panel";
import { Tabs } from "../parts/tabs";
import { Timeline } from "../parts/timeline";
import { YamlText } from "../parts/yaml_text";
import { navigate, setQuery, useAddress } from "../router";
import { flattened, isOver, ordered } from "../steps";
import type { KubeEvent, RunDetail } from "../types";

const StepGraph = lazy(() => import("../parts/graph").then((module) => ({ default: module.StepGraph })));

const TABS = ["graph", "timeline", "list", "about", "events", "yaml"] as const;
const TITLES = {
  graph: "Graph",
  timeline: "Timeline",
  list: "List",
  about: "About",
  events: "Events",
  yaml: "YAML",
};

const PHONE = 700;

/** A graph of many steps needs room: a phone gets the list first. */
function usualTab(): (typeof TABS)[number] {
  return window.innerWidth < PHONE ? "list" : "graph";
}

function shownTabs(): readonly (typeof TABS)[number][] {
  return window.innerWidth < PHONE ? ["list", ...TABS.filter((item) => item !== "list")] : TABS;
}

export function RunView({ namespace, name }: { namespace: string; name: string }) {
  const { run, isGone, problem, connection } = useRun(namespace, name);
  const [since] = useState(() => Date.now());
  useEffect(() => {
    document.title = `${run ? `${run.phase} · ` : ""}${name} · Jangar`;
  }, [run?.phase, name, run]);
  const back = (
    <Link className="button" to="/">
      All runs
    </Link>
  );
  if (problem && !run) {
    return (
      <main className="page">
        <h1 className="lonely">{name}</h1>
        <ProblemNotice problem={problem} />
        {problem.status === 404 && (
          <p>
            It was deleted, or it never existed. <Command>jangar list</Command> shows the runs that exist.
          </p>
        )}
        <p>{back}</p>
      </main>
    );
  }
  if (!run) {
    return (
      <main className="page">
        <h1 className="lonely">{name}</h1>
        <Waiting what="Reading the run" since={since} />
      </main>
    );
  }
  return (
    <main className="one">
      {!isGone && <Stale connection={connection} hasData />}
      {isGone && (
        <div className="stale-notice" role="status">
          <b>{name} was deleted.</b>{" "}
          {run.live
            ? "You see its last known state; history has no record of it."
            : "You see its record in the history."}{" "}
          {back}
        </div>
      )}
      <Shown
        run={run}
        isGone={isGone}
        freshness={isGone || isOver(run) ? null : <Freshness connection={connection} />}
      />
    </main>
  );
}

/** What the address says is opened: nested runs, stacks, and the nested runs that hold the chosen step. */
function openedPaths(address: URL): string[] {
  const paths = (address.searchParams.get("open") ?? "").split(",").filter(Boolean);
  const parts = (address.searchParams.get("step") ?? "").split("/").slice(0, -1);
  parts.forEach((_, index) => paths.push(parts.slice(0, index + 1).join("/")));
  return [...new Set(paths)];
}

function Shown({ run, isGone, freshness }: { run: RunDetail; isGone: boolean; freshness: ReactNode }) {
  const address = useAddress();
  const usual = usualTab();
  const tab = TABS.find((item) => item === address.searchParams.get("view")) ?? usual;
  const chosen = address.searchParams.get("step");
  const find = (address.searchParams.get("find") ?? "").toLowerCase();
  const opened = openedPaths(address);
  const nested = useNested(
    run,
    opened.filter((entry) => !entry.includes("~")),
  );
  const isEnded = isOver(run) || isGone;
  const now = useNow(!isEnded);
  const [asking, setAsking] = useState<Asking | null>(null);
  const [said, setSaid] = useState<Error | null>(null);
  const finder = useRef<HTMLInputElement>(null);
  const path = runPath(run.namespace, run.name);

  const choose = useCallback((step: string | null) => setQuery({ step, panel: null }), []);
  const open = useCallback((element: string) => {
    const known = openedPaths(new URL(location.href));
    const without = known.filter((other) => other !== element && !other.startsWith(`${element}/`));
    const next = without.length < known.length ? without : [...known, element];
    const step = new URL(location.href).searchParams.get("step");
    setQuery({ open: next.join(","), ...(step?.startsWith(`${element}/`) ? { step: element } : {}) });
  }, []);
  const all = useMemo(() => flattened(run, nested), [run, nested]);
  const phase = address.searchParams.get("phase") ?? "";
  const { sort, isDown } = sortOf(address.searchParams.get("sort"));
  const matching = useMemo(
    () =>
      find
        ? all.filter(
            ({ path: each, step }) => each.toLowerCase().includes(find) || step.phase.toLowerCase() === find,
          )
        : all,
    [all, find],
  );
  const placed = useMemo(() => {
    if (tab !== "list") return matching;
    return ordered(phase ? matching.filter(({ step }) => step.phase === phase) : matching, sort, isDown, now);
    // While a run is running its durations change each second; the order follows the changes of its steps.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [matching, tab, phase, sort, isDown]);
  const [jump, setJump] = useState(0);
  const seek = (by: number) => {
    const at = matching.findIndex((candidate) => candidate.path === chosen);
    const next = matching[(Math.max(at, by > 0 ? -1 : 0) + by + matching.length) % matching.length];
    if (!next) return;
    choose(next.path);
    setJump((last) => last + 1);
  };
  const step = all.find((one) => one.path === chosen);
  const act = (verb: string) => {
    setSaid(null);
    post(`${path}/${verb}`).catch((error: Error) => setSaid(error));
  };
  const hold = () => act(run.suspended ? "resume" : "suspend");
  const move = (by: number) => {
    const at = placed.findIndex((one) => one.path === chosen);
    const next = placed[at < 0 ? (by > 0 ? 0 : placed.length - 1) : at + by];
    if (next) choose(next.path);
  };
  const view = (one: (typeof TABS)[number]) => setQuery({ view: one === usual ? null : one });
  useKeys({
    Escape: () => choose(null),
    "/": () => finder.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    c: () => !isEnded && setAsking({ what: "cancel" }),
    s: () => !isEnded && hold(),
    r: () => isEnded && setAsking({ what: run.phase === "Succeeded" ? "resubmit" : "retry", from: null }),
    u: () => navigate("/"),
    ...Object.fromEntries(TABS.map((one, index) => [String(index + 1), () => view(one)])),
  });

  return (
    <>
      <Head run={run} now={now} isEnded={isEnded} isGone={isGone} freshness={freshness}>
        {!isEnded && (
          <button
            type="button"
            onClick={hold}
            title={run.suspended ? "Resume (s)" : "Start no further steps (s)"}
          >
            {run.suspended ? "Resume" : "Suspend"}
          </button>
        )}
        {!isEnded && (
          <button
            type="button"
            className="danger"
            title="Cancel the run (c)"
            disabled={run.cancelRequested}
            onClick={() => setAsking({ what: "cancel" })}
          >
            {run.cancelRequested ? "Cancelling…" : "Cancel"}
          </button>
        )}
        {isEnded && !isGone && run.phase !== "Succeeded" && (
          <button
            type="button"
            className="primary"
            title="Run again what did not succeed (r)"
            onClick={() => setAsking({ what: "retry", from: null })}
          >
            Retry
          </button>
        )}
        {isEnded && (!isGone || !run.live) && (
          <button type="button" onClick={() => setAsking({ what: "resubmit" })}>
            Run again
          </button>
        )}
        {isEnded && !isGone && run.live && (
          <button type="button" onClick={() => setAsking({ what: "delete" })}>
            Delete
          </button>
        )}
      </Head>
      {said && <ProblemNotice problem={said} />}
      {run.message && (
        <p className={`message ${run.phase === "Failed" ? "bad" : ""}`}>
          {run.reason !== run.phase && <b>{run.reason}: </b>}
          {run.message}
        </p>
      )}
      <Tabs label="Views of the run" tabs={shownTabs()} titles={TITLES} chosen={tab} onChoose={view}>
        <span className="spring" />
        {tab === "list" && run.steps.length > 5 && (
          <select
            aria-label="Phase of steps"
            value={phase}
            onChange={(event) => setQuery({ phase: event.target.value })}
          >
            <option value="">all phases</option>
            {[...new Set([...all.map(({ step: each }) => each.phase as string), ...(phase ? [phase] : [])])]
              .sort()
              .map((one) => (
                <option key={one} value={one}>
                  {one} ({all.filter(({ step: other }) => other.phase === one).length})
                </option>
              ))}
          </select>
        )}
        {find && (
          <span className="under found" role="status">
            {many(matching.length, "match", "matches")}
          </span>
        )}
        {(tab === "graph" || tab === "timeline" || tab === "list") && run.steps.length > 5 && (
          <input
            ref={finder}
            className="finder"
            type="search"
            placeholder="Find a step  ( / )"
            title="Enter jumps to the next match, Shift+Enter to the one before"
            aria-label="Find a step"
            value={address.searchParams.get("find") ?? ""}
            onChange={(event) => setQuery({ find: event.target.value })}
            onKeyDown={(event) => {
              if (event.key === "Enter" && matching.length) seek(event.shiftKey ? -1 : 1);
            }}
          />
        )}
      </Tabs>
      <div className={`split${step ? " with-panel" : ""}`}>
        <div className={`view view-${tab}`} role="tabpanel" aria-label={TITLES[tab]}>
          {tab === "graph" && !run.steps.length && (
            <Empty title="It has no steps yet">
              <p>{run.message || "The run has not started."}</p>
            </Empty>
          )}
          {tab === "graph" && run.steps.length > 0 && (
            <Suspense fallback={<Waiting what="Drawing the graph" since={now} rows={3} />}>
              <StepGraph
                run={run}
                nested={nested}
                opened={opened}
                chosen={chosen}
                now={now}
                find={find}
                jump={jump}
                onChoose={choose}
                onOpen={open}
              />
            </Suspense>
          )}
          {tab === "list" && (
            <StepList
              placed={placed}
              now={now}
              chosen={chosen}
              opened={new Set(opened)}
              sort={sort}
              isDown={isDown}
              onChoose={choose}
              onOpen={open}
            />
          )}
          {tab === "timeline" && (
            <Timeline run={run} placed={placed} path={path} now={now} chosen={chosen} onChoose={choose} />
          )}
          {tab === "about" && <RunAbout run={run} now={now} />}
          {tab === "events" && <RunEvents path={path} version={run.resourceVersion} now={now} />}
          {tab === "yaml" && <RunYaml path={path} name={run.name} version={run.resourceVersion} />}
        </div>
        {step && (
          <StepPanel
            key={step.path}
            run={step.run}
            step={step.step}
            path={step.path}
            now={now}
            isOpen={opened.includes(step.path)}
            onClose={() => choose(null)}
            onChoose={choose}
            onOpen={open}
            onRetryFrom={step.depth || isGone ? null : (from) => setAsking({ what: "retry", from })}
          />
        )}
      </div>
      {asking && <RunDialogs asking={asking} run={run} nested={nested} onClose={() => setAsking(null)} />}
    </>
  );
}

interface HeadProps {
  run: RunDetail;
  now: number;
  isEnded: boolean;
  isGone: boolean;
  freshness: ReactNode;
  children: ReactNode;
}

function Head({ run, now, isEnded, isGone, freshness, children }: HeadProps) {
  const nested = run.steps.filter((step) => step.kind === "SubOrchestration" && step.child).length;
  return (
    <div className="toolbar run-head">
      <div className="titles">
        <h1>{run.name}</h1>
        <span className="under">
          {run.orchestration ? (
            <Link to={orchestrationHref(run.namespace, run.orchestration)}>{run.orchestration}</Link>
          ) : (
            "inline definition"
          )}
          {` · ${run.namespace} · `}
          <span title={clock(run.createdAt)}>{age(run.createdAt, now)}</span>
          {run.createdBy && ` · by ${run.createdBy}`}
          {run.retryOf && " · retry of "}
          {run.retryOf && <Link to={runHref(run.namespace, run.retryOf)}>{run.retryOf}</Link>}
          {run.retriedBy.length > 0 && " · retried by "}
          {run.retriedBy.map((item, index) => (
            <span key={item}>
              {index > 0 && ", "}
              <Link to={runHref(run.namespace, item)}>{item}</Link>
            </span>
          ))}
          {nested > 0 && " · "}
          {nested > 0 && (
            <Link to={`/?nested=yes&q=${encodeURIComponent(run.name)}`}>{many(nested, "nested run")}</Link>
          )}
          {run.parent && " · part of "}
          {run.parent && <Link to={runHref(run.namespace, run.parent)}>{run.parent}</Link>}
          {run.live && !isGone && run.deletionRequested && " · being deleted"}
          {run.live && !isGone && !run.deletionRequested && run.expiresAt && (
            <span
              title={`Kept until ${clock(run.expiresAt)}; About shows the setting`}
            >{` · kept for ${until(run.expiresAt, now)}`}</span>
          )}
          {!run.live && " · from history"}
        </span>
      </div>
      <div className="state">
        <PhaseBadge phase={run.phase} reason={run.reason} />
        {run.suspended && !isEnded && <span className="tag">suspended</span>}
        <Progress counts={run.counts} total={run.stepsTotal} ended={run.stepsEnded} isLong />
        <span className="took">{duration(run.startedAt, run.finishedAt, now)}</span>
      </div>
      <span className="spring" />
      {freshness}
      <div className="buttons">{children}</div>
    </div>
  );
}

function RunEvents({ path, version, now }: { path: string; version: string; now: number }) {
  const { found, problem } = useAnswer<{ items: KubeEvent[] }>(`${path}/events`, version);
  if (problem) return <ProblemNotice problem={problem} />;
  if (!found) return <p className="quiet padded">…</p>;
  return <EventList events={found.items} now={now} none="No events. Kubernetes keeps events for one hour." />;
}

function RunYaml({ path, name, version }: { path: string; name: string; version: string }) {
  const { found, problem } = useAnswer<unknown>(`${path}/object`, version);
  if (problem) return <ProblemNotice problem={problem} />;
  return found ? (
    <YamlText value={found} label={`OrchestrationRun ${name}`} />
  ) : (
    <p className="quiet padded">…</p>
  );
}
