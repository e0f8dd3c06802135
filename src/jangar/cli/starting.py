"""Which run some manifests ask for: the one they hold, or one of the Orchestration they hold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from jangar.api.kind import VERSION
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN, OrchestrationSpec
from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.domain.orchestration.message_text import Guesses
from jangar.operations.submit import parameter_problems
from kubekit.client.api_client import Obj

MAX_PREFIX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says about the run."""

    orchestration: str = ""
    """The Orchestration to run."""
    run: str = ""
    """The OrchestrationRun to start, of several."""
    name: str = ""
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is applied first, and the run that is created then."""

    others: tuple[Mapping[str, Any], ...]
    run: Obj


def start_of(objects: Sequence[Mapping[str, Any]], wanted: RunOptions, *, source: str) -> Start:
    """Raises Failure if the manifests do not say which run is meant, or its parameters are wrong."""
    runs = [item for item in objects if _is(item, ORCHESTRATION_RUN.name)]
    definitions = [item for item in objects if _is(item, ORCHESTRATION.name)]
    others = tuple(item for item in objects if not _is(item, ORCHESTRATION_RUN.name))
    if runs and not wanted.orchestration:
        run = _given(_one(runs, "OrchestrationRun", "--run", wanted.run, source), wanted)
    elif definitions or wanted.orchestration:
        candidates = definitions if wanted.orchestration else _outermost(definitions)
        run = _generated(
            _one(candidates, "Orchestration", "--orchestration", wanted.orchestration, source), wanted
        )
    else:
        raise Failure(
            f"{source} contains no Orchestration or OrchestrationRun to run "
            f"(jangar apply -f {source} applies its objects)",
            ExitCode.USAGE,
        )
    _check_parameters(run, definitions)
    return Start(others=others, run=run)


def renamed(run: Obj) -> Obj:
    """The same run once more, under a name that the API chooses."""
    meta = dict(run["metadata"])
    meta["generateName"] = f"{str(meta.pop('name'))[:MAX_PREFIX]}-"
    return run | {"metadata": meta}


def _is(obj: Mapping[str, Any], kind: str) -> bool:
    return obj["kind"] == kind and str(obj["apiVersion"]).partition("/")[0] == ORCHESTRATION.group


def _outermost(definitions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those that no other one of the file runs as a step; all of them if they run each other in a circle."""
    nested = {
        (step.get("orchestrationRef") or {}).get("name")
        for definition in definitions
        for step in (definition.get("spec") or {}).get("steps") or ()
    }
    return [
        definition for definition in definitions if definition["metadata"].get("name") not in nested
    ] or definitions


def _one(
    found: Sequence[Mapping[str, Any]], kind: str, option: str, name: str, source: str
) -> Mapping[str, Any]:
    names = [str(item["metadata"].get("name") or item["metadata"].get("generateName")) for item in found]
    listed = ", ".join(names[:20])
    if name:
        for item, called in zip(found, names, strict=True):
            if called == name:
                return item
        near = Guesses(names).nearest(name)
        hint = f"; did you mean {near}?" if near else f"; it contains {listed}" if names else ""
        raise Failure(f"{source} contains no {kind} {name}{hint}", ExitCode.NOT_FOUND)
    if len(found) > 1:
        raise Failure(
            f"{source} contains {len(found)} {kind}s that can run: {listed}; choose one with {option} NAME",
            ExitCode.USAGE,
        )
    return found[0]


def _given(run: Mapping[str, Any], wanted: RunOptions) -> Obj:
    meta, spec = dict(run["metadata"]), dict(run.get("spec") or {})
    if wanted.name:
        meta.pop("generateName", None)
        meta["name"] = wanted.name
    if wanted.parameters:
        spec["parameters"] = dict(spec.get("parameters") or {}) | dict(wanted.parameters)
    return {**run, "metadata": meta, "spec": spec}


def _generated(orchestration: Mapping[str, Any], wanted: RunOptions) -> Obj:
    meta = orchestration["metadata"]
    called = {"name": wanted.name} if wanted.name else {"generateName": f"{meta['name'][:MAX_PREFIX]}-"}
    place = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
    spec: Obj = {"orchestrationRef": {"name": meta["name"]}}
    if wanted.parameters:
        spec["parameters"] = dict(wanted.parameters)
    return {
        "apiVersion": f"{ORCHESTRATION_RUN.group}/{VERSION}",
        "kind": ORCHESTRATION_RUN.name,
        "metadata": {**place, **called},
        "spec": spec,
    }


def _check_parameters(run: Obj, definitions: Sequence[Mapping[str, Any]]) -> None:
    """Only against a definition that is at hand; else the run itself will tell."""
    spec = run["spec"]
    named = (spec.get("orchestrationRef") or {}).get("name")
    at_hand = {item["metadata"].get("name"): item.get("spec") for item in definitions}
    definition = spec.get("orchestration") or at_hand.get(named)
    if definition is None:
        return
    try:
        read = OrchestrationSpec.model_validate(definition)
    except ValidationError:
        return
    reported = parameter_problems(read, spec.get("parameters") or {})
    if reported:
        raise Failure("\n".join([*reported, "pass parameters with -p NAME=VALUE"]), ExitCode.USAGE)
