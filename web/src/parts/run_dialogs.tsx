import { post, remove, runPath } from "../api";
import { many } from "../format";
import { navigate } from "../router";
import { flattened, isStarted, repeated } from "../steps";
import type { Run, RunDetail } from "../types";
import { Confirm } from "./confirm";
import { runHref } from "./link";

export type Asking = { what: "cancel" } | { what: "retry"; from: string | null } | { what: "resubmit" } | { what: "delete" };

interface Props {
  asking: Asking;
  run: RunDetail;
  nested: ReadonlyMap<string, RunDetail>;
  onClose: () => void;
}

/** Every change is asked about, in words that say what it will do. */
export function RunDialogs({ asking, run, nested, onClose }: Props) {
  const path = runPath(run.namespace, run.name);
  const open = (made: { run: Run }) => navigate(runHref(made.run.namespace, made.run.name));
  switch (asking.what) {
    case "cancel":
      return <Cancel run={run} nested={nested} path={path} onClose={onClose} />;
    case "retry": {
      const again = repeated(run.steps, asking.from);
      return (
        <Confirm
          title={asking.from ? `Retry ${run.name} from ${asking.from}?` : `Retry ${run.name}?`}
          yes="Retry"
          onClose={onClose}
          onYes={() => post<{ run: Run }>(`${path}/retry`, asking.from ? { fromStep: asking.from } : {}).then(open)}
        >
          <p>
            A new run with the same definition and parameters. {many(again.length, "step runs", "steps run")} again,{" "}
            {run.steps.length - again.length} keep what they have:
          </p>
          <Names names={again} />
        </Confirm>
      );
    }
    case "resubmit":
      return (
        <Confirm
          title={`Run ${run.name} again?`}
          yes="Run it"
          onClose={onClose}
          onYes={() => post<{ run: Run }>(`${path}/resubmit`, {}).then(open)}
        >
          <p>A new run from the beginning, of what is defined today, with the same parameters.</p>
        </Confirm>
      );
    case "delete":
      return (
        <Confirm title={`Delete ${run.name}?`} yes="Delete" danger onClose={onClose} onYes={() => remove(path).then(() => navigate("/"))}>
          <p>The run, its steps and their logs are deleted. This cannot be taken back.</p>
        </Confirm>
      );
  }
}

const SHOWN = 10;

function Names({ names }: { names: readonly string[] }) {
  return (
    <ul className="names">
      {names.slice(0, SHOWN).map((name) => (
        <li key={name}>{name}</li>
      ))}
      {names.length > SHOWN && <li>and {names.length - SHOWN} more</li>}
    </ul>
  );
}

/** Says what will be stopped, before it is. */
function Cancel({ run, nested, path, onClose }: Omit<Props, "asking"> & { path: string }) {
  const live = flattened(run, nested).filter(({ step }) => isStarted(step));
  const waiting = run.steps.filter((each) => each.phase === "Pending" && each.attempt === 0).length;
  return (
    <Confirm title={`Cancel ${run.name}?`} yes="Cancel the run" danger onClose={onClose} onYes={() => post(`${path}/cancel`)}>
      <p>{live.length ? "These are stopped now:" : "Nothing runs at the moment."}</p>
      {live.length > 0 && (
        <Names names={live.map(({ path: each, step }) => (step.kind === "SubOrchestration" ? `${each} with all its steps` : each))} />
      )}
      <p>
        {waiting > 0 && `${many(waiting, "step")} will not start. `}What has ended keeps its result. A cancel cannot be taken
        back, but the run can be retried from where it stopped.
      </p>
    </Confirm>
  );
}
