"""The doctor's checks. Each is a function of what was read: nothing is asked here, nothing changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import POD_CAUSES, Reason
from jangar.cli.doctor.facts import Ailment, Check, Facts, Objects
from jangar.cli.output.spans import age
from jangar.cli.wording import counted
from jangar.controllers.resources import CHILD_UID, STEP
from jangar.domain.job_execution.finalizers import CLEANUP_FINALIZER
from jangar.domain.times import parse_rfc3339
from jangar.kinds.registry import RUN_KINDS

INSTALL: Final = "jangar crds | kubectl apply --server-side -f -"
GRACE_PERIOD: Final = timedelta(seconds=30)
"""Everything may wait for a moment."""
MAX_LATE_RENEWALS: Final = 2
ORDINARY: Final = frozenset({"", Reason.PENDING, Reason.STARTING})
OUR_FINALIZERS: Final = CLEANUP_FINALIZER.partition("/")[0]
MAX_NAMED: Final = 5


def examined(facts: Facts) -> tuple[Check, ...]:
    """Every check, in the order in which one would look."""
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
    ailments = []
    if missing:
        ailments.append(
            Ailment(message=f"{counted(len(missing), 'kind')} missing: {_some(missing)}", fix=fix)
        )
    if outdated:
        message = f"{counted(len(outdated), 'kind')} of another version: {_some(outdated)}"
        ailments.append(Ailment(message=message, fix=fix))
    return Check(name=name, found=f"{len(facts.wanted)} kinds installed", ailments=tuple(ailments))


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
    """Whether everything wanted is there; what a server adds does not matter."""
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
    ailments: tuple[Ailment, ...] = ()
    if facts.laptop_version != facts.cli_version:
        message = f"the control plane has version {facts.laptop_version}, this command {facts.cli_version}"
        fix = "run jangar down; jangar up --detach to restart it with this version; running work continues"
        ailments = (Ailment(message=message, fix=fix),)
    return Check(
        name="version", found=f"jangar {facts.cli_version} (control plane and command)", ailments=ailments
    )


def controllers(facts: Facts) -> Check:
    """Somebody acts on runs: the laptop's parts are well, or a Lease is being renewed."""
    name = "controllers"
    if facts.is_laptop:
        ailments = [
            Ailment(message=f"{part}: {'; '.join(problems)}", fix="see jangar logs --server")
            for part, problems in facts.parts.items()
            if problems
        ]
        return Check(name=name, found="all components are healthy", ailments=tuple(ailments))
    if facts.leases is None:
        return _skipped(facts, name, "leases")
    held = [lease for lease in facts.leases if (lease.get("spec") or {}).get("holderIdentity")]
    if not held:
        message = (
            f"the Lease {facts.lease_name} has no holder: no controllers run, or they run without leases"
        )
        fix = "start them: helm upgrade --install agents charts/agents, or jangar controllers"
        return Check(name=name, found="", ailments=(Ailment(message=message, fix=fix),))
    late = [item for item in held if _is_late(item, facts.now)]
    ailments = [
        Ailment(
            subject=_object_label(item),
            message=f"not renewed for {age(_time(item['spec'].get('renewTime')), facts.now)} "
            f"by {item['spec']['holderIdentity']}",
            fix="check the controller pods: kubectl get pods -A -l app.kubernetes.io/name=agents",
        )
        for item in late
    ]
    holders = ", ".join(str(item["spec"]["holderIdentity"]) for item in held)
    return Check(name=name, found=f"held by {holders}", ailments=tuple(ailments))


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
        name=name, found="", ailments=(Ailment(message="no node is ready: nothing can start", fix=fix),)
    )


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def deletions(facts: Facts) -> Check:
    """Nothing is being deleted for longer than stopping its work may take."""
    name = "deletions"
    bound = facts.cancel_bound + GRACE_PERIOD
    groups = (*facts.runs.values(), facts.jobs, facts.pods)
    ailments = [
        Ailment(
            subject=_object_label(item),
            message=f"deletion pending for {age(since, facts.now)}, blocked by "
            f"{', '.join(item['metadata'].get('finalizers') or ()) or 'no finalizer'}",
            fix=_finalizer_fix(item),
        )
        for group in groups
        for item in group or ()
        if (since := _time(item["metadata"].get("deletionTimestamp"))) and facts.now - since > bound
    ]
    return Check(name=name, found="none stuck", ailments=tuple(ailments))


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
    """Every Job of ours belongs to a child that is still there."""
    name = "orphaned work"
    owners = [run for run in RUN_KINDS.values() if run.creates_jobs]
    runs = [facts.runs.get(run.name, ()) for run in owners]
    if facts.jobs is None or None in runs:
        return _skipped(facts, name, "jobs", *(run.plural_noun for run in owners))
    known = {run["metadata"]["uid"] for group in runs for run in group or ()}
    ailments = [
        Ailment(
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
    return Check(name=name, found="none", ailments=tuple(ailments))


def waiting(facts: Facts) -> Check:
    """No run waits for something that does not come by itself."""
    name = "runs that wait"
    root_runs = facts.runs.get(ORCHESTRATION_RUN.name, ())
    if root_runs is None:
        return _skipped(facts, name, "runs")
    ailments = [
        Ailment(
            subject=_step_of_run(run) or _object_label(run),
            message=f"waiting for {age(_time(run['metadata']['creationTimestamp']), facts.now)}: {_why(run)}",
            fix=_suggested_fix(run),
        )
        for group in facts.runs.values()
        for run in group or ()
        if _pod_cannot_start(run) or (_waits_unexpectedly(run) and _is_old(run, facts.now))
    ]
    live = sum(1 for run in root_runs if _phase(run) not in TERMINAL)
    return Check(name=name, found=f"none; {counted(live, 'live run')}", ailments=tuple(ailments))


def _step_of_run(obj: Mapping[str, Any]) -> str:
    """`OrchestrationRun default/nightly, step build` for a child of a run."""
    meta = obj["metadata"]
    step = (meta.get("labels") or {}).get(STEP)
    owners = meta.get("ownerReferences") or ()
    run = next((owner["name"] for owner in owners if owner.get("kind") == "OrchestrationRun"), None)
    return f"OrchestrationRun {meta['namespace']}/{run}, step {step}" if run and step else ""


def _pod_cannot_start(obj: Mapping[str, Any]) -> bool:
    """Whether its pod waits for an image, a Secret, a node or the like: nobody needs patience to see that."""
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

__all__ = ["CHECKS", "Objects", "examined"]
