"""The doctor's checks: pure functions of facts that `examination` read from an API."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import POD_CAUSES, Reason
from jangar.cli.output.spans import age
from jangar.cli.wording import counted
from jangar.controllers.resources import CHILD_UID, STEP
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.kinds.registry import RUN_KINDS
from kubekit.times import parse_rfc3339

Objects = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was read of a control plane. None means that it could not be read."""

    now: datetime
    server: str
    cli_version: str
    is_laptop: bool
    laptop_version: str = ""
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The problems of each component of a laptop."""
    definitions: Objects | None = ()
    """The installed CRDs."""
    wanted: Objects = ()
    """The CRDs of this version."""
    leases: Objects | None = ()
    """The leader election Leases of the controllers."""
    lease_name: str = ""
    runs: Mapping[str, Objects | None] = field(default_factory=dict)
    """By the kind of run."""
    jobs: Objects | None = ()
    """Jobs that carry our label."""
    pods: Objects | None = ()
    """Pods that carry our label."""
    cancel_bound: timedelta = timedelta(seconds=60)
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why some lists could not be read, by name."""
    nodes: Objects | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem and its fix."""

    message: str
    fix: str
    subject: str = ""
    """The object, as in `OrchestrationRun default/nightly`; empty if it is about none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check; passed if it has no problems."""

    name: str
    found: str
    """What is shown if the check passed."""
    problems: tuple[Problem, ...] = ()
    skipped: str = ""
    """Why the check could not run."""


INSTALL: Final = "jangar crds | kubectl apply --server-side -f -"
GRACE_PERIOD: Final = timedelta(seconds=30)
"""Time that any object may wait without being reported."""
MAX_LATE_RENEWALS: Final = 2
ORDINARY: Final = frozenset({"", Reason.PENDING, Reason.STARTING})
OUR_FINALIZERS: Final = CLEANUP_FINALIZER.partition("/")[0]
MAX_NAMED: Final = 5


def run_checks(facts: Facts) -> tuple[Check, ...]:
    """The results of all checks, in the order of a diagnosis."""
    return tuple(check(facts) for check in CHECKS)


def kinds(facts: Facts) -> Check:
    """The CRDs of this version are installed and as this version has them."""
    name = "kinds"
    if facts.definitions is None:
        return _skipped(facts, name, "CRDs")
    there = {definition["metadata"]["name"]: definition for definition in facts.definitions}
    missing = [item["metadata"]["name"] for item in facts.wanted if item["metadata"]["name"] not in there]
    outdated = [
        item["metadata"]["name"]
        for item in facts.wanted
        if item["metadata"]["name"] in there
        and not _is_within(_schema(item), _schema(there[item["metadata"]["name"]]))
    ]
    fix = "run jangar down; jangar up --detach to install them" if facts.is_laptop else INSTALL
    problems = []
    if missing:
        problems.append(
            Problem(message=f"{counted(len(missing), 'kind')} missing: {_some(missing)}", fix=fix)
        )
    if outdated:
        message = f"{counted(len(outdated), 'kind')} of another version: {_some(outdated)}"
        problems.append(Problem(message=message, fix=fix))
    return Check(name=name, found=f"{len(facts.wanted)} kinds installed", problems=tuple(problems))


def _schema(definition: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        {
            "name": version.get("name"),
            "schema": version.get("schema"),
            "subresources": version.get("subresources"),
        }
        for version in definition["spec"].get("versions") or ()
    ]


def _is_within(wanted: Any, there: Any) -> bool:
    """Whether everything wanted is there; fields that a server adds are ignored."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            value is None or _is_within(value, there.get(key)) or (value == {} and key not in there)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(there, list)
            and len(wanted) == len(there)
            and all(_is_within(ours, theirs) for ours, theirs in zip(wanted, there, strict=True))
        )
    return bool(wanted == there)


def versions(facts: Facts) -> Check:
    """The laptop's control plane is of the version of this command."""
    if not facts.is_laptop:
        return Check(name="version", found=f"this is jangar {facts.cli_version}")
    problems: tuple[Problem, ...] = ()
    if facts.laptop_version != facts.cli_version:
        message = f"the control plane has version {facts.laptop_version}, this command {facts.cli_version}"
        fix = "run jangar down; jangar up --detach to restart it with this version; running work continues"
        problems = (Problem(message=message, fix=fix),)
    return Check(
        name="version", found=f"jangar {facts.cli_version} (control plane and command)", problems=problems
    )


def controllers(facts: Facts) -> Check:
    """Controllers run: the components of the laptop are healthy, or a Lease is being renewed."""
    name = "controllers"
    if facts.is_laptop:
        problems = [
            Problem(message=f"{part}: {'; '.join(problems)}", fix="see jangar logs --server")
            for part, problems in facts.parts.items()
            if problems
        ]
        return Check(name=name, found="all components are healthy", problems=tuple(problems))
    if facts.leases is None:
        return _skipped(facts, name, "leases")
    held = [lease for lease in facts.leases if (lease.get("spec") or {}).get("holderIdentity")]
    if not held:
        message = (
            f"the Lease {facts.lease_name} has no holder: no controllers run, or they run without leases"
        )
        fix = "start them: helm upgrade --install agents charts/agents, or jangar controllers"
        return Check(name=name, found="", problems=(Problem(message=message, fix=fix),))
    late = [item for item in held if _is_late(item, facts.now)]
    problems = [
        Problem(
            subject=_object_label(item),
            message=f"not renewed for {age(_time(item['spec'].get('renewTime')), facts.now)} "
            f"by {item['spec']['holderIdentity']}",
            fix="check the controller pods: kubectl get pods -A -l app.kubernetes.io/name=agents",
        )
        for item in late
    ]
    holders = ", ".join(str(item["spec"]["holderIdentity"]) for item in held)
    return Check(name=name, found=f"held by {holders}", problems=tuple(problems))


def _is_late(lease: Mapping[str, Any], now: datetime) -> bool:
    spec = lease["spec"]
    renewed = _time(spec.get("renewTime"))
    duration = timedelta(seconds=float(spec.get("leaseDurationSeconds") or 30))
    return renewed is None or now - renewed > duration * MAX_LATE_RENEWALS


def nodes(facts: Facts) -> Check:
    """There is a node that takes work."""
    name = "nodes"
    if facts.nodes is None:
        return _skipped(facts, name, "nodes")
    ready = [node for node in facts.nodes if _is_ready(node)]
    if ready:
        return Check(name=name, found=f"{len(ready)} of {len(facts.nodes)} ready")
    fix = (
        "see jangar logs --server for why the node agent is not ready"
        if facts.is_laptop
        else "kubectl get nodes"
    )
    return Check(
        name=name, found="", problems=(Problem(message="no node is ready: nothing can start", fix=fix),)
    )


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def deletions(facts: Facts) -> Check:
    """No deletion takes longer than stopping the work may take."""
    name = "deletions"
    bound = facts.cancel_bound + GRACE_PERIOD
    groups = (*facts.runs.values(), facts.jobs, facts.pods)
    problems = [
        Problem(
            subject=_object_label(item),
            message=f"deletion pending for {age(since, facts.now)}, blocked by "
            f"{', '.join(item['metadata'].get('finalizers') or ()) or 'no finalizer'}",
            fix=_finalizer_fix(item),
        )
        for group in groups
        for item in group or ()
        if (since := _time(item["metadata"].get("deletionTimestamp"))) and facts.now - since > bound
    ]
    return Check(name=name, found="none stuck", problems=tuple(problems))


def _finalizer_fix(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    foreign = [
        finalizer for finalizer in meta.get("finalizers") or () if not finalizer.startswith(OUR_FINALIZERS)
    ]
    who = (
        f"the owner of {', '.join(foreign)} must remove it"
        if foreign
        else "the controllers remove their finalizer once the work has ended: see the controllers check"
    )
    by_hand = '{"metadata":{"finalizers":null}}'
    return (
        f"{who}; if no work is left: kubectl patch {obj['kind'].lower()} {meta['name']} "
        f"-n {meta['namespace']} --type=merge -p '{by_hand}'"
    )


def orphans(facts: Facts) -> Check:
    """Every Job of Jangar belongs to an existing child."""
    name = "orphaned work"
    owners = [run for run in RUN_KINDS.values() if run.creates_jobs]
    runs = [facts.runs.get(run.name, ()) for run in owners]
    if facts.jobs is None or None in runs:
        return _skipped(facts, name, "jobs", *(run.plural_noun for run in owners))
    known = {run["metadata"]["uid"] for group in runs for run in group or ()}
    problems = [
        Problem(
            subject=_object_label(job),
            message=f"its {' or '.join(run.name for run in owners)} no longer exists",
            fix=f"kubectl delete job {job['metadata']['name']} -n {job['metadata']['namespace']}",
        )
        for job in facts.jobs
        if (uid := (job["metadata"].get("labels") or {}).get(CHILD_UID))
        and uid not in known
        and _is_old(job, facts.now)
        and not job["metadata"].get("deletionTimestamp")
    ]
    return Check(name=name, found="none", problems=tuple(problems))


def waiting(facts: Facts) -> Check:
    """No run waits for something that needs an action."""
    name = "runs that wait"
    root_runs = facts.runs.get(ORCHESTRATION_RUN.name, ())
    if root_runs is None:
        return _skipped(facts, name, "runs")
    problems = [
        Problem(
            subject=_step_of_run(run) or _object_label(run),
            message=f"waiting for {age(_time(run['metadata']['creationTimestamp']), facts.now)}: {_why(run)}",
            fix=_suggested_fix(run),
        )
        for group in facts.runs.values()
        for run in group or ()
        if _pod_cannot_start(run) or (_waits_unexpectedly(run) and _is_old(run, facts.now))
    ]
    live = sum(1 for run in root_runs if _phase(run) not in TERMINAL)
    return Check(name=name, found=f"none; {counted(live, 'live run')}", problems=tuple(problems))


def _step_of_run(obj: Mapping[str, Any]) -> str:
    """`OrchestrationRun default/nightly, step build` for a child of a run."""
    meta = obj["metadata"]
    step = (meta.get("labels") or {}).get(STEP)
    owners = meta.get("ownerReferences") or ()
    run = next((owner["name"] for owner in owners if owner.get("kind") == "OrchestrationRun"), None)
    return f"OrchestrationRun {meta['namespace']}/{run}, step {step}" if run and step else ""


def _pod_cannot_start(obj: Mapping[str, Any]) -> bool:
    """Whether its pod waits for an image, a Secret, a node or the like, which is reported at once."""
    return _phase(obj) not in TERMINAL and (obj.get("status") or {}).get("reason") in POD_CAUSES


def _waits_unexpectedly(obj: Mapping[str, Any]) -> bool:
    reason = (obj.get("status") or {}).get("reason") or ""
    if (obj.get("spec") or {}).get("suspend"):
        return False
    return _phase(obj) == Phase.PENDING and reason not in ORDINARY


def _suggested_fix(obj: Mapping[str, Any]) -> str:
    name = obj["metadata"]["name"]
    if (obj.get("status") or {}).get("reason") == Reason.REFERENCE_NOT_FOUND:
        return "apply the missing object and the run continues, or cancel the run"
    if (obj.get("status") or {}).get("reason") in POD_CAUSES:
        return (
            f"docs/runbooks/{obj['status']['reason']}.md describes the fix; the run then continues by itself"
        )
    if obj["kind"] == "OrchestrationRun":
        return f"jangar explain {name} -n {obj['metadata']['namespace']}"
    return f"kubectl describe {obj['kind'].lower()} {name} -n {obj['metadata']['namespace']}"


def _why(obj: Mapping[str, Any]) -> str:
    status = obj.get("status") or {}
    return ": ".join(part for part in (status.get("reason"), status.get("message")) if part)


def _phase(obj: Mapping[str, Any]) -> str:
    return str((obj.get("status") or {}).get("phase") or Phase.PENDING)


def _is_old(obj: Mapping[str, Any], now: datetime) -> bool:
    since = _time(obj["metadata"].get("creationTimestamp"))
    return since is not None and now - since > GRACE_PERIOD


def _time(text: str | None) -> datetime | None:
    return parse_rfc3339(text) if text else None


def _object_label(obj: Mapping[str, Any]) -> str:
    return f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _skipped(facts: Facts, name: str, *needed: str) -> Check:
    why: Iterator[str] = (f"{item}: {facts.unread[item]}" for item in needed if item in facts.unread)
    return Check(name=name, found="", skipped="; ".join(why) or "could not be read")


CHECKS: Final[tuple[Callable[[Facts], Check], ...]] = (
    versions,
    kinds,
    controllers,
    nodes,
    deletions,
    orphans,
    waiting,
)
