"""Asking a run for something: cancel, suspend, go on; and the new runs that repeat one (DAG-16)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from jangar.api.phases import TERMINAL
from jangar.cli.asking import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.runs.reading import RUNS, ReadRun
from jangar.kube.client import Obj, PatchKind

if TYPE_CHECKING:
    from jangar.kube.client import Client

REPEATED: Final = ("orchestrationRef", "orchestration", "parameters", "policies", "ttlSecondsAfterFinished")
OURS: Final = ("jangar.proompteng.ai/", "app.kubernetes.io/managed-by")
LONGEST_PREFIX: Final = 200


def phase_of(run: Mapping[str, Any]) -> str:
    return (run.get("status") or {}).get("phase") or "Pending"


def is_over(run: Mapping[str, Any]) -> bool:
    return phase_of(run) in TERMINAL


async def steer(client: "Client", run: Mapping[str, Any], **spec: Any) -> Obj:
    """Change what may be changed in a run's spec: this very run, not another of its name."""
    meta = run["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": spec}
    return await client.patch(RUNS, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)


def retry_of(read: ReadRun, from_step: str | None, name: str | None) -> Obj:
    """The run that repeats an ended one with its own definition, keeping what succeeded."""
    run, meta = read.obj, read.obj["metadata"]
    if not is_over(run):
        raise Failure(
            f"{meta['name']} is {phase_of(run)}: only a run that has ended can be retried "
            f"(jangar cancel {meta['name']} --wait ends it)"
        )
    if from_step is not None:
        _check_step(read, from_step)
    elif phase_of(run) == "Succeeded":
        raise Failure(
            f"every step of {meta['name']} succeeded: name the step to begin with by --from, "
            f"or run it all again with jangar resubmit {meta['name']}"
        )
    repeated: Obj = {"name": meta["name"], "uid": meta["uid"]}
    if from_step is not None:
        repeated["fromStep"] = from_step
    made = _again(run, name)
    made["spec"].pop("orchestration", None)
    made["spec"]["retryOf"] = repeated
    return made


def resubmission_of(read: ReadRun, name: str | None) -> Obj:
    """A new run of what is defined today."""
    spec = read.obj.get("spec") or {}
    if not spec.get("orchestrationRef") and not spec.get("orchestration"):
        original = (spec.get("retryOf") or {}).get("name")
        raise Failure(f"{read.obj['metadata']['name']} repeats {original}: resubmit that one")
    return _again(read.obj, name)


def _again(run: Mapping[str, Any], name: str | None) -> Obj:
    meta, spec = run["metadata"], run.get("spec") or {}
    labels = {key: text for key, text in (meta.get("labels") or {}).items() if not key.startswith(OURS)}
    called: Obj = {"name": name} if name else {"generateName": f"{meta['name'][:LONGEST_PREFIX]}-"}
    return {
        "apiVersion": RUNS.api_version,
        "kind": RUNS.kind,
        "metadata": {"namespace": meta["namespace"], **called, **({"labels": labels} if labels else {})},
        "spec": {key: spec[key] for key in REPEATED if key in spec},
    }


def _check_step(read: ReadRun, step: str) -> None:
    from jangar.domain.orchestration.wording import Guesses  # noqa: PLC0415 - seldom needed

    names = [state.name for state in read.record.steps]
    if names and step not in names:
        near = Guesses(names).nearest(step)
        hint = f"; did you mean {near}?" if near else f"; it has {', '.join(names[:20])}"
        raise Failure(f"{read.obj['metadata']['name']} has no step {step}{hint}", ExitCode.NOT_FOUND)
