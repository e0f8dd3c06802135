"""The doctor's checks. Each is a function of what was read: nothing is asked here, nothing changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import POD_CAUSES, Reason
from jangar.cli.doctor.facts import Ailment, Check, Facts, Objects
from jangar.cli.output.spans import age
from jangar.cli.wording import counted
from jangar.controllers.resources import CHILD_UID, STEP
from jangar.domain.times import parse_rfc3339
from jangar.domain.work.releasing import CLEANUP_FINALIZER

INSTALL: Final = "jangar crds | kubectl apply --server-side -f -"
PATIENCE: Final = timedelta(seconds=30)
"""Everything may wait for a moment."""
LATE_RENEWALS: Final = 2
ORDINARY: Final = frozenset({"", Reason.PENDING, Reason.STARTING})
OUR_FINALIZERS: Final = CLEANUP_FINALIZER.partition("/")[0]
MOST_NAMED: Final = 5


def examined(facts: Facts) -> tuple[Check, ...]:
    """Every check, in the order in which one would look."""
    return tuple(check(facts) for check in CHECKS)


def kinds(facts: Facts) -> Check:
    """The CRDs of this version are installed and as this version has them."""
    name = "kinds"
    if facts.definitions is None:
        return _skipped(facts, name, "CRDs")
    there = {each["metadata"]["name"]: each for each in facts.definitions}
    missing = [each["metadata"]["name"] for each in facts.wanted if each["metadata"]["name"] not in there]
    outdated = [
        each["metadata"]["name"]
        for each in facts.wanted
        if each["metadata"]["name"] in there
        and not _is_within(_schema(each), _schema(there[each["metadata"]["name"]]))
    ]
    fix = "jangar down; jangar up --detach installs them" if facts.is_laptop else INSTALL
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
        {"name": each.get("name"), "schema": each.get("schema"), "subresources": each.get("subresources")}
        for each in definition["spec"].get("versions") or ()
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
        message = f"the control plane is {facts.laptop_version}, this command {facts.cli_version}"
        fix = "jangar down; jangar up --detach starts it with this version, and work that runs goes on"
        ailments = (Ailment(message=message, fix=fix),)
    return Check(name="version", found=f"jangar {facts.cli_version} on both sides", ailments=ailments)


def controllers(facts: Facts) -> Check:
    """Somebody acts on runs: the laptop's parts are well, or a Lease is being renewed."""
    name = "controllers"
    if facts.is_laptop:
        ailments = [
            Ailment(message=f"{part}: {'; '.join(problems)}", fix="jangar logs --server tells more")
            for part, problems in facts.parts.items()
            if problems
        ]
        return Check(name=name, found="all parts of the laptop are well", ailments=tuple(ailments))
    if facts.leases is None:
        return _skipped(facts, name, "leases")
    held = [each for each in facts.leases if (each.get("spec") or {}).get("holderIdentity")]
    if not held:
        message = f"nobody holds the Lease {facts.lease_name}: no controllers run, or they run without leases"
        fix = "start them: helm upgrade --install agents charts/agents, or jangar controllers"
        return Check(name=name, found="", ailments=(Ailment(message=message, fix=fix),))
    late = [each for each in held if _is_late(each, facts.now)]
    ailments = [
        Ailment(
            subject=_told(each),
            message=f"not renewed for {age(_time(each['spec'].get('renewTime')), facts.now)} "
            f"by {each['spec']['holderIdentity']}",
            fix="look at the pods of the controllers: kubectl get pods -A -l app.kubernetes.io/name=agents",
        )
        for each in late
    ]
    holders = ", ".join(str(each["spec"]["holderIdentity"]) for each in held)
    return Check(name=name, found=f"held by {holders}", ailments=tuple(ailments))


def _is_late(lease: Mapping[str, Any], now: datetime) -> bool:
    spec = lease["spec"]
    renewed = _time(spec.get("renewTime"))
    duration = timedelta(seconds=float(spec.get("leaseDurationSeconds") or 30))
    return renewed is None or now - renewed > duration * LATE_RENEWALS


def nodes(facts: Facts) -> Check:
    """There is a node that takes work."""
    name = "nodes"
    if facts.nodes is None:
        return _skipped(facts, name, "nodes")
    ready = [each for each in facts.nodes if _is_ready(each)]
    if ready:
        return Check(name=name, found=f"{len(ready)} of {len(facts.nodes)} ready")
    fix = (
        "jangar logs --server tells why the node agent is not ready"
        if facts.is_laptop
        else "kubectl get nodes"
    )
    return Check(
        name=name, found="", ailments=(Ailment(message="no node is ready: nothing can start", fix=fix),)
    )


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def deletions(facts: Facts) -> Check:
    """Nothing is being deleted for longer than stopping its work may take."""
    name = "deletions"
    bound = facts.cancel_bound + PATIENCE
    groups = (facts.runs, facts.toolruns, facts.agentruns, facts.jobs, facts.pods)
    ailments = [
        Ailment(
            subject=_told(each),
            message=f"being deleted for {age(since, facts.now)}, held by "
            f"{', '.join(each['metadata'].get('finalizers') or ()) or 'no finalizer'}",
            fix=_letting_go(each),
        )
        for group in groups
        for each in group or ()
        if (since := _time(each["metadata"].get("deletionTimestamp"))) and facts.now - since > bound
    ]
    return Check(name=name, found="none is stuck", ailments=tuple(ailments))


def _letting_go(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    foreign = [each for each in meta.get("finalizers") or () if not each.startswith(OUR_FINALIZERS)]
    who = (
        f"whoever put {', '.join(foreign)} there must let go"
        if foreign
        else "controllers let go once its work has ended: see the check of controllers"
    )
    by_hand = '{"metadata":{"finalizers":null}}'
    return (
        f"{who}; if its work is surely gone: kubectl patch {obj['kind'].lower()} {meta['name']} "
        f"-n {meta['namespace']} --type=merge -p '{by_hand}'"
    )


def orphans(facts: Facts) -> Check:
    """Every Job of ours belongs to a child that is still there."""
    name = "orphaned work"
    if facts.jobs is None or facts.toolruns is None or facts.agentruns is None:
        return _skipped(facts, name, "jobs", "toolruns", "agentruns")
    known = {each["metadata"]["uid"] for each in (*facts.toolruns, *facts.agentruns)}
    ailments = [
        Ailment(
            subject=_told(job),
            message="the ToolRun or AgentRun that it works for is gone",
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
    if facts.runs is None:
        return _skipped(facts, name, "runs")
    ailments = [
        Ailment(
            subject=_step_of_run(each) or _told(each),
            message=f"waits for {age(_time(each['metadata']['creationTimestamp']), facts.now)}: {_why(each)}",
            fix=_way_out(each),
        )
        for each in (*facts.runs, *(facts.toolruns or ()), *(facts.agentruns or ()))
        if _pod_cannot_start(each) or (_waits_oddly(each) and _is_old(each, facts.now))
    ]
    live = sum(1 for each in facts.runs if _phase(each) not in TERMINAL)
    return Check(name=name, found=f"none; {counted(live, 'live run')}", ailments=tuple(ailments))


def _step_of_run(obj: Mapping[str, Any]) -> str:
    """`OrchestrationRun default/nightly, step build` for a child of a run."""
    meta = obj["metadata"]
    step = (meta.get("labels") or {}).get(STEP)
    owners = meta.get("ownerReferences") or ()
    run = next((each["name"] for each in owners if each.get("kind") == "OrchestrationRun"), None)
    return f"OrchestrationRun {meta['namespace']}/{run}, step {step}" if run and step else ""


def _pod_cannot_start(obj: Mapping[str, Any]) -> bool:
    """Whether its pod waits for an image, a Secret, a node or the like: nobody needs patience to see that."""
    return _phase(obj) not in TERMINAL and (obj.get("status") or {}).get("reason") in POD_CAUSES


def _waits_oddly(obj: Mapping[str, Any]) -> bool:
    reason = (obj.get("status") or {}).get("reason") or ""
    if (obj.get("spec") or {}).get("suspend"):
        return False
    return _phase(obj) == Phase.PENDING and reason not in ORDINARY


def _way_out(obj: Mapping[str, Any]) -> str:
    name = obj["metadata"]["name"]
    if (obj.get("status") or {}).get("reason") == Reason.REFERENCE_NOT_FOUND:
        return "apply what is missing: it goes on by itself then; or cancel it"
    if (obj.get("status") or {}).get("reason") in POD_CAUSES:
        return f"docs/runbooks/{obj['status']['reason']}.md says what to do; it goes on by itself then"
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
    return since is not None and now - since > PATIENCE


def _time(text: str | None) -> datetime | None:
    return parse_rfc3339(text) if text else None


def _told(obj: Mapping[str, Any]) -> str:
    return f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _skipped(facts: Facts, name: str, *needed: str) -> Check:
    why: Iterator[str] = (f"{each}: {facts.unread[each]}" for each in needed if each in facts.unread)
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
