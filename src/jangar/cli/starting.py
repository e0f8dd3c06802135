"""Which run some manifests ask for: the one they hold, or one of the Orchestration they hold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from jangar.api.kind import VERSION
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN, OrchestrationSpec
from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.domain.orchestration.wording import Guesses
from jangar.server.submit import parameter_problems
from kubekit.client.api_client import Obj

LONGEST_PREFIX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
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


def start_of(objects: Sequence[Mapping[str, Any]], wanted: Wanted, *, source: str) -> Start:
    """Raises Failure if the manifests do not say which run is meant, or its parameters are wrong."""
    runs = [each for each in objects if _is(each, ORCHESTRATION_RUN.name)]
    definitions = [each for each in objects if _is(each, ORCHESTRATION.name)]
    others = tuple(each for each in objects if not _is(each, ORCHESTRATION_RUN.name))
    if runs and not wanted.orchestration:
        run = _given(_one(runs, "OrchestrationRun", "--run", wanted.run, source), wanted)
    elif definitions or wanted.orchestration:
        candidates = definitions if wanted.orchestration else _outermost(definitions)
        run = _generated(
            _one(candidates, "Orchestration", "--orchestration", wanted.orchestration, source), wanted
        )
    else:
        raise Failure(
            f"there is no Orchestration or OrchestrationRun in {source}: "
            f"nothing to run (jangar apply -f {source} applies what it holds)",
            ExitCode.USAGE,
        )
    _check_parameters(run, definitions)
    return Start(others=others, run=run)


def renamed(run: Obj) -> Obj:
    """The same run once more, under a name that the API chooses."""
    meta = dict(run["metadata"])
    meta["generateName"] = f"{str(meta.pop('name'))[:LONGEST_PREFIX]}-"
    return run | {"metadata": meta}


def _is(obj: Mapping[str, Any], kind: str) -> bool:
    return obj["kind"] == kind and str(obj["apiVersion"]).partition("/")[0] == ORCHESTRATION.group


def _outermost(definitions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those that no other one of the file runs as a step; all of them if they run each other in a circle."""
    nested = {
        (step.get("orchestrationRef") or {}).get("name")
        for each in definitions
        for step in (each.get("spec") or {}).get("steps") or ()
    }
    return [each for each in definitions if each["metadata"].get("name") not in nested] or definitions


def _one(
    found: Sequence[Mapping[str, Any]], kind: str, option: str, name: str, source: str
) -> Mapping[str, Any]:
    names = [str(each["metadata"].get("name") or each["metadata"].get("generateName")) for each in found]
    listed = ", ".join(names[:20])
    if name:
        for each, called in zip(found, names, strict=True):
            if called == name:
                return each
        near = Guesses(names).nearest(name)
        hint = f"; did you mean {near}?" if near else f"; it holds {listed}" if names else ""
        raise Failure(f"there is no {kind} {name} in {source}{hint}", ExitCode.NOT_FOUND)
    if len(found) > 1:
        raise Failure(
            f"{source} holds {len(found)} {kind}s that could be run: {listed}; choose one by {option} NAME",
            ExitCode.USAGE,
        )
    return found[0]


def _given(run: Mapping[str, Any], wanted: Wanted) -> Obj:
    meta, spec = dict(run["metadata"]), dict(run.get("spec") or {})
    if wanted.name:
        meta.pop("generateName", None)
        meta["name"] = wanted.name
    if wanted.parameters:
        spec["parameters"] = dict(spec.get("parameters") or {}) | dict(wanted.parameters)
    return {**run, "metadata": meta, "spec": spec}


def _generated(orchestration: Mapping[str, Any], wanted: Wanted) -> Obj:
    meta = orchestration["metadata"]
    called = {"name": wanted.name} if wanted.name else {"generateName": f"{meta['name'][:LONGEST_PREFIX]}-"}
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
    at_hand = {each["metadata"].get("name"): each.get("spec") for each in definitions}
    definition = spec.get("orchestration") or at_hand.get(named)
    if definition is None:
        return
    try:
        read = OrchestrationSpec.model_validate(definition)
    except ValidationError:
        return
    told = parameter_problems(read, spec.get("parameters") or {})
    if told:
        raise Failure("\n".join([*told, "parameters are given by -p NAME=VALUE"]), ExitCode.USAGE)
