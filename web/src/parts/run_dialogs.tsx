import { useState } from "react";

import { post, remove, runPath } from "../api";
import { checked, given } from "../form_checks";
import type { FieldErrors } from "../form_checks";
import { many } from "../format";
import { historyKept } from "../instance";
import { useAnswer } from "../live";
import { retentionText } from "../retention_text";
import { navigate } from "../router";
import { flattened, isStarted, repeated } from "../steps";
import type { Orchestration, Parameter, Run, RunDetail } from "../types";
import { Confirm } from "./confirm";
import { runHref } from "./link";
import { NameField, ParameterFields } from "./parameter_fields";

export type Asking =
  { what: "cancel" } | { what: "retry"; from: string | null } | { what: "resubmit" } | { what: "delete" };

interface Props {
  asking: Asking;
  run: RunDetail;
  nested: ReadonlyMap<string, RunDetail>;
  onClose: () => void;
}

function show(made: { run: Run }): void {
  navigate(runHref(made.run.namespace, made.run.name));
}

/** Every change is confirmed, in words that say what it does. */
export function RunDialogs({ asking, run, nested, onClose }: Props) {
  switch (asking.what) {
    case "cancel":
      return <Cancel run={run} nested={nested} onClose={onClose} />;
    case "retry":
      return <Retry run={run} from={asking.from} onClose={onClose} />;
    case "resubmit":
      return <Resubmit run={run} onClose={onClose} />;
    case "delete":
      return <Delete run={run} onClose={onClose} />;
  }
}

interface DialogProps {
  run: RunDetail;
  onClose: () => void;
}

function Retry({ run, from, onClose }: DialogProps & { from: string | null }) {
  const again = new Set(repeated(run.steps, from));
  const kept = run.steps.filter((step) => !again.has(step.name)).map((step) => step.name);
  return (
    <Confirm
      title={from ? `Retry ${run.name} from ${from}?` : `Retry ${run.name}?`}
      yes="Retry"
      onClose={onClose}
      onYes={() =>
        post<{ run: Run }>(`${runPath(run.namespace, run.name)}/retry`, from ? { fromStep: from } : {}).then(
          show,
        )
      }
    >
      <p>This starts a new run with the same definition and the same parameters.</p>
      <h3>{many(again.size, "step runs", "steps run")} again</h3>
      <Names names={[...again]} sign="↻" label="Steps that run again" />
      <h3>{kept.length ? `${many(kept.length, "step is", "steps are")} kept` : "No step is kept"}</h3>
      {kept.length > 0 && <p className="under">Kept steps do not run. The new run uses their outputs.</p>}
      <Names names={kept} sign="✓" label="Steps that are kept" />
      <p className="under">A retry cannot change parameters yet. To change them, use “Run again”.</p>
    </Confirm>
  );
}

/** The parameters as the definition declares them today; of a run with a definition of its own, those it was given. */
function useParameters(run: RunDetail): Parameter[] {
  const path = run.orchestration
    ? `/v1/namespaces/${encodeURIComponent(run.namespace)}/orchestrations/${encodeURIComponent(run.orchestration)}`
    : null;
  const { found } = useAnswer<Orchestration>(path);
  const declared = found?.parameters ?? [];
  const names = new Set(declared.map((item) => item.name));
  return [...declared, ...Object.keys(run.parameters).flatMap((name) => (names.has(name) ? [] : [{ name }]))];
}

function Resubmit({ run, onClose }: DialogProps) {
  const parameters = useParameters(run);
  const [values, setValues] = useState<Record<string, string>>(run.parameters);
  const [name, setName] = useState("");
  const [errors, setErrors] = useState<FieldErrors>({});
  const start = () =>
    post<{ run: Run }>(`${runPath(run.namespace, run.name)}/resubmit`, {
      parameters: given(values),
      ...(name.trim() ? { name: name.trim() } : {}),
    }).then(show);
  return (
    <Confirm
      title={`Run ${run.name} again?`}
      yes="Run"
      hasFields={parameters.length > 0}
      check={() => checked(parameters, values, name.trim())}
      onErrors={setErrors}
      onClose={onClose}
      onYes={start}
    >
      <p>
        This starts a new run from the beginning, with{" "}
        {run.orchestration ? "the current definition" : "the same definition"}. Nothing is kept.
      </p>
      <ParameterFields parameters={parameters} values={values} errors={errors} onChange={setValues} />
      <NameField name={name} error={errors["name"] ?? ""} hint={`${run.name}-…`} onChange={setName} />
    </Confirm>
  );
}

function Delete({ run, onClose }: DialogProps) {
  const kept = historyKept();
  return (
    <Confirm
      title={`Delete ${run.name}?`}
      yes="Delete"
      danger
      onClose={onClose}
      onYes={() => remove(runPath(run.namespace, run.name)).then(() => navigate("/"))}
    >
      <p>
        The run is deleted from Kubernetes, with its steps, Jobs and pods. It cannot be retried after that.
      </p>
      {run.retention?.history === "On" ? (
        <p>
          Its record stays readable in the history {retentionText(kept?.recordSeconds)}, the ends of its logs{" "}
          {retentionText(kept?.logSeconds)}.
        </p>
      ) : (
        <p>History is off: its record and its logs are lost.</p>
      )}
    </Confirm>
  );
}

const SHOWN = 10;

function Names({ names, sign = "", label }: { names: readonly string[]; sign?: string; label: string }) {
  if (!names.length) return null;
  return (
    <ul className={sign ? "names signed" : "names"} aria-label={label}>
      {names.slice(0, SHOWN).map((name) => (
        <li key={name}>
          {sign && <span aria-hidden="true">{sign} </span>}
          {name}
        </li>
      ))}
      {names.length > SHOWN && <li>and {names.length - SHOWN} more</li>}
    </ul>
  );
}

/** Names what will be stopped, before it is. */
function Cancel({ run, nested, onClose }: Omit<Props, "asking">) {
  const live = flattened(run, nested).filter(({ step }) => isStarted(step));
  const waiting = run.steps.filter((item) => item.phase === "Pending" && item.attempt === 0).length;
  const names = live.map(({ path, step }) =>
    step.kind === "SubOrchestration" ? `${path} with all its steps` : path,
  );
  return (
    <Confirm
      title={`Cancel ${run.name}?`}
      yes="Cancel the run"
      danger
      onClose={onClose}
      onYes={() => post(`${runPath(run.namespace, run.name)}/cancel`)}
    >
      <p>{live.length ? "These steps are stopped:" : "No step is running."}</p>
      <Names names={names} label="Steps that are stopped" />
      <p>
        {waiting > 0 && `${many(waiting, "step")} will not start. `}Steps that have ended keep their results.
        A cancel cannot be undone, but the run can be retried from where it stopped.
      </p>
    </Confirm>
  );
}
