import { ahead, clock } from "../format";
import { historyKept } from "../instance";
import { retentionText } from "../retention_text";
import type { RunDetail } from "../types";
import { Facts } from "./facts";
import { Link, runHref } from "./link";
import { PhaseBadge } from "./phase";

/** What the run was given and gave, how long it is kept, and what its conditions say. */
export function RunAbout({ run, now }: { run: RunDetail; now: number }) {
  return (
    <div className="about">
      <section>
        <h3>Times</h3>
        <dl>
          <When name="Created" at={run.createdAt} />
          <When name="Started" at={run.startedAt} />
          <When name="Cancel requested" at={run.cancelRequestedAt} />
          <When name="Finished" at={run.finishedAt} />
        </dl>
      </section>
      <Kept run={run} now={now} />
      <NestedRuns run={run} />
      <Facts title="Parameters" values={run.parameters} none="none" />
      <Facts title="Outputs" values={run.outputs} none={run.finishedAt ? "none" : "none yet"} />
      {run.leftBehind.length > 0 && (
        <section>
          <h3>Left behind</h3>
          <ul>
            {run.leftBehind.map((item) => (
              <li key={item.name}>
                {item.kind} {item.name} {item.endedAt ? `ended ${clock(item.endedAt)}` : "may still run"}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Conditions</h3>
        <ul className="conditions">
          {run.conditions.map((condition) => (
            <li key={condition.type}>
              <b>{condition.type}</b> {condition.status} <span className="under">{condition.reason}</span>
              {condition.message && <p className="under">{condition.message}</p>}
            </li>
          ))}
        </ul>
      </section>
      <Facts title="Labels" values={run.labels} />
    </div>
  );
}

/** Runs that are steps of this one: lists leave them out unless they are asked for. */
function NestedRuns({ run }: { run: RunDetail }) {
  const steps = run.steps.filter((step) => step.kind === "SubOrchestration" && step.child);
  if (!steps.length) return null;
  return (
    <section>
      <h3>Nested runs</h3>
      <ul className="nested-runs">
        {steps.map((step) => (
          <li key={step.name}>
            <PhaseBadge phase={step.phase} reason={step.reason} />{" "}
            <Link to={runHref(run.namespace, step.child ?? "")}>{step.child}</Link>{" "}
            <span className="under">step {step.name}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function When({ name, at }: { name: string; at: string | null }) {
  if (!at) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{clock(at)}</dd>
    </div>
  );
}

/** GC-4: what is deleted when, and which setting says so. */
function Kept({ run, now }: { run: RunDetail; now: number }) {
  const kept = run.retention;
  if (!run.live) {
    return (
      <section>
        <h3>Retention</h3>
        <p>
          The run is deleted from Kubernetes. History keeps its record{" "}
          {retentionText(historyKept()?.recordSeconds)} and the ends of its logs{" "}
          {retentionText(historyKept()?.logSeconds)}.
        </p>
      </section>
    );
  }
  return (
    <section>
      <h3>Retention</h3>
      {!run.finishedAt && <p>The run is kept while it runs. The time counts from its end.</p>}
      <dl>
        <div>
          <dt>The run and its steps</dt>
          <dd>
            {kept?.runExpiresAt
              ? `${ahead(kept.runExpiresAt, now)}: ${clock(kept.runExpiresAt)}`
              : run.finishedAt
                ? "never"
                : limit(kept?.runRetentionSeconds)}
            {kept?.runSource && <span className="under"> ({kept.runSource})</span>}
          </dd>
        </div>
        <div>
          <dt>Their Jobs and pods</dt>
          <dd>
            {kept?.jobExpiresAt
              ? `${ahead(kept.jobExpiresAt, now)}: ${clock(kept.jobExpiresAt)}`
              : limit(kept?.jobTtlSeconds)}
            {kept?.jobSource && <span className="under"> ({kept.jobSource})</span>}
          </dd>
        </div>
      </dl>
      {kept?.history && (
        <p className="under">
          {kept.history === "On"
            ? `After that its record stays in the history ${retentionText(historyKept()?.recordSeconds)}, the ends of its logs ${retentionText(historyKept()?.logSeconds)}.`
            : "History is off: nothing remains of the run after that."}
        </p>
      )}
    </section>
  );
}

function limit(seconds: number | undefined): string {
  if (seconds === undefined) return "as configured";
  return seconds >= 86400
    ? `${Math.round(seconds / 86400)} days after the end`
    : `${seconds} seconds after the end`;
}
