import { useState } from "react";

import { runPath } from "../api";
import { age, clock, duration } from "../format";
import { useAnswer } from "../live";
import { setQuery, useAddress } from "../router";
import { dependents, isOver } from "../steps";
import type { Attempt, RunDetail, Step, StepShown } from "../types";
import { EventList } from "./event_list";
import { Facts } from "./facts";
import { Link, runHref } from "./link";
import { StepLogs } from "./logs";
import { ProblemNotice } from "./notice";
import { KeptTag, PhaseBadge } from "./phase";
import { SidePanel } from "./side_panel";
import { Tabs } from "./tabs";
import { YamlText } from "./yaml_text";

const TABS = ["log", "data", "attempts", "events", "yaml"] as const;
type Tab = (typeof TABS)[number];
const TITLES: Record<Tab, string> = {
  log: "Log",
  data: "In and out",
  attempts: "Attempts",
  events: "Events",
  yaml: "YAML",
};

interface Props {
  /** The run whose step it is: a nested one for `outer/inner`. */
  run: RunDetail;
  step: Step;
  path: string;
  now: number;
  isOpen: boolean;
  onClose: () => void;
  onChoose: (path: string) => void;
  onOpen: (path: string) => void;
  onRetryFrom: ((step: string) => void) | null;
}

/** One step closely. */
export function StepPanel({ run, step, path, now, isOpen, onClose, onChoose, onOpen, onRetryFrom }: Props) {
  const asked = useAddress().searchParams.get("panel");
  const isNested = step.kind === "SubOrchestration";
  const usual: Tab = isNested || !step.attempt ? "data" : "log";
  const tab = TABS.find((item) => item === asked) ?? usual;
  const [attempt, setAttempt] = useState(0);
  const before = path.slice(0, path.length - step.name.length);
  const needed = dependents(run.steps).get(step.name) ?? [];
  const attempts = Math.max(step.attempt, step.attempts.length);
  const isClose = tab === "data" || tab === "events" || tab === "yaml";
  const which = attempt ? `&attempt=${attempt}` : "";
  const { found, problem } = useAnswer<StepShown>(
    isClose ? `${runPath(run.namespace, run.name)}/step?step=${encodeURIComponent(step.name)}${which}` : null,
    `${step.phase}${step.attempt}${step.reason}`,
  );
  return (
    <SidePanel label={`Step ${path}`}>
      <header>
        <div className="titles">
          <h2>{step.name}</h2>
          <span className="under">
            {step.kind}
            {before && ` of ${before.slice(0, -1)}`}
          </span>
        </div>
        {step.reason === "Reused" && <KeptTag />}
        <PhaseBadge phase={step.phase} reason={step.reason} />
        <button
          type="button"
          className="plain"
          onClick={onClose}
          aria-label="Close the step"
          title="Close (Esc)"
        >
          ×
        </button>
      </header>
      <div className="why">
        <p>{step.sentence}</p>
        <p className="under facts">
          {step.startedAt && (
            <span title={clock(step.startedAt)}>
              started {age(step.startedAt, now)}, took {duration(step.startedAt, step.finishedAt, now)}
              {step.finishedAt ? "" : " so far"}
            </span>
          )}
          {attempts > 1 && <span>attempt {step.attempt}</span>}
          {step.exitCode !== null && <span>exit code {step.exitCode}</span>}
          {step.failureIgnored && <span>its failure is ignored</span>}
        </p>
        {(step.dependsOn.length > 0 || needed.length > 0) && (
          <p className="under needs">
            <StepLinks words="needs" names={step.dependsOn} before={before} onChoose={onChoose} />
            <StepLinks words="needed by" names={needed} before={before} onChoose={onChoose} />
          </p>
        )}
        <div className="buttons left">
          {isNested && step.child && (
            <button type="button" onClick={() => onOpen(path)}>
              {isOpen ? "Hide its steps" : "Show its steps here"}
            </button>
          )}
          {isNested && step.child && (
            <Link className="button" to={runHref(run.namespace, step.child)}>
              Open its run
            </Link>
          )}
          {onRetryFrom && isOver(run) && step.attempt > 0 && (
            <button type="button" onClick={() => onRetryFrom(step.name)}>
              Retry from here
            </button>
          )}
        </div>
      </div>
      <Tabs
        label={`About ${step.name}`}
        tabs={isNested ? TABS.filter((entry) => entry !== "log") : TABS}
        titles={{ ...TITLES, attempts: attempts > 1 ? `Attempts (${attempts})` : "Attempts" }}
        chosen={tab === "log" && isNested ? "data" : tab}
        onChoose={(element) => setQuery({ panel: element === usual ? null : element })}
      >
        {attempts > 1 && tab !== "attempts" && (
          <select
            aria-label="Attempt"
            value={attempt || step.attempt}
            onChange={(event) =>
              setAttempt(Number(event.target.value) === step.attempt ? 0 : Number(event.target.value))
            }
          >
            {Array.from({ length: attempts }, (_, index) => attempts - index).map((number) => (
              <option key={number} value={number}>
                attempt {number}
              </option>
            ))}
          </select>
        )}
      </Tabs>
      <div className="body" role="tabpanel" aria-label={TITLES[tab]}>
        {problem && isClose && <ProblemNotice problem={problem} />}
        {tab === "log" && !isNested && (
          <StepLogs
            key={attempt || step.attempt}
            namespace={run.namespace}
            run={run.name}
            step={step}
            attempt={attempt}
          />
        )}
        {(tab === "data" || (tab === "log" && isNested)) && (
          <>
            <Facts
              title="Inputs"
              values={found?.inputs ?? {}}
              none={found && !found.object ? found.missing : "none"}
            />
            <Facts
              title="Outputs"
              values={step.outputs}
              none={isOver({ phase: step.phase }) ? "none" : "none yet"}
            />
            {found && Object.keys(found.written).length > 0 && (
              <section>
                <h3>As written</h3>
                <YamlText value={found.written} label="the step as written" />
              </section>
            )}
          </>
        )}
        {tab === "attempts" && <Attempts step={step} now={now} />}
        {tab === "events" && found && (
          <EventList
            events={found.events}
            now={now}
            none={found.missing || "No events. Kubernetes keeps events for one hour."}
          />
        )}
        {tab === "yaml" &&
          found &&
          (found.object ? (
            <YamlText value={found.object} label={`${found.object.kind} ${found.object.metadata.name}`} />
          ) : (
            <p className="quiet">{found.missing}</p>
          ))}
      </div>
    </SidePanel>
  );
}

const SHOWN = 12;

export function StepLinks(props: {
  words: string;
  names: readonly string[];
  before: string;
  onChoose: (path: string) => void;
}) {
  const { words, names, before, onChoose } = props;
  if (!names.length) return null;
  return (
    <span>
      {words}{" "}
      {names.slice(0, SHOWN).map((name) => (
        <button key={name} type="button" className="link" onClick={() => onChoose(before + name)}>
          {name}
        </button>
      ))}
      {names.length > SHOWN && ` and ${names.length - SHOWN} more`}
    </span>
  );
}

function Attempts({ step, now }: { step: Step; now: number }) {
  const current: Attempt[] =
    step.attempt > step.attempts.length
      ? [
          {
            attempt: step.attempt,
            phase: step.phase,
            reason: step.reason,
            message: "",
            startedAt: step.attempts.length ? null : step.startedAt,
            finishedAt: step.finishedAt,
            exitCode: step.exitCode,
          },
        ]
      : [];
  const all = [...step.attempts, ...current].reverse();
  if (!all.length) return <p className="quiet">It has not run yet.</p>;
  return (
    <ol className="attempts" reversed>
      {all.map((item) => (
        <li key={item.attempt} value={item.attempt}>
          <PhaseBadge phase={item.phase} reason={item.reason} />
          {item.reason !== item.phase && <b>{item.reason}</b>}
          {item.startedAt && (
            <span className="took" title={clock(item.startedAt)}>
              {duration(item.startedAt, item.finishedAt, now)}
            </span>
          )}
          {item.exitCode !== null && <span>exit code {item.exitCode}</span>}
          {item.message && <p className="under">{item.message}</p>}
        </li>
      ))}
    </ol>
  );
}
