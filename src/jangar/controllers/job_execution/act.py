"""From an action to the call that does it. Every call is safe to repeat: what is done already is success."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, assert_never

from jangar.api.reasons import Reason
from jangar.controllers.job_execution.app_tokens import AppTokens, SignInRefused
from jangar.controllers.log_tails import LogTails
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.resources import (
    CHILD_UID,
    MANAGED_BY,
    RUN_UID,
    STEP,
    is_controlled_by,
    owner_reference,
)
from jangar.domain.job_execution.actions import (
    AddChildFinalizer,
    CreateJob,
    DeleteChild,
    EndDuplicate,
    RemoveChildFinalizer,
    StoreLogs,
    WorkAction,
)
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.finalizers import (
    CLEANUP_FINALIZER,
    OUTCOME_FINALIZER,
    DeleteJob,
    DeletePod,
    ReleaseJob,
    ReleasePod,
    SetTtl,
)
from jangar.domain.job_execution.observation import WorkRefused
from jangar.domain.job_execution.stopping import DeletePods, SuspendJob
from jangar.runtimes.kubernetes_job.manifest import (
    MAX_RUN,
    Placement,
    claim_manifest,
    files_manifest,
    job_manifest,
    token_manifest,
)
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS, JOBS, SECRETS
from kubekit.client.errors import AlreadyExists, BadRequest, Invalid
from kubekit.events.event_recorder import EventRecorder, ObjectReference

JobAction = SuspendJob | SetTtl | ReleaseJob | DeleteJob
PodAction = EndDuplicate | StoreLogs | DeletePods | ReleasePod | DeletePod
ChildAction = AddChildFinalizer | RemoveChildFinalizer | DeleteChild

# A Job that counts the end of a second pod as its own failure ends the first one, too.
_DISOWNED: Final = {
    "metadata": {
        "ownerReferences": None,
        "labels": {"batch.kubernetes.io/controller-uid": None, "controller-uid": None},
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """What actions are done with."""

    client: Client
    writes: ObjectWrites
    children: Informer
    jobs: Informer
    pods: Informer
    recorder: EventRecorder
    tokens: AppTokens
    logs: LogTails | None = None
    service_account: str | None = None
    security_context: Mapping[str, Any] | None = None
    stop_bound: timedelta = timedelta(seconds=60)
    max_grace: timedelta | None = None
    share_processes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildContext:
    """The child that actions are for."""

    seen: Cached
    reference: ObjectReference
    command: Command | None
    container: str
    """The container whose log counts."""
    timeout: timedelta | None


async def act(
    deps: ActionDependencies, subject: ChildContext, actions: Sequence[WorkAction]
) -> WorkRefused | None:
    """Do them in order; a Job that the API server refuses for good is the one failure that is an answer."""
    for action in actions:
        match action:
            case CreateJob():
                return await _create(deps, subject, action)
            case SuspendJob() | SetTtl() | ReleaseJob() | DeleteJob():
                await _on_job(deps, subject, action, actions)
            case EndDuplicate() | StoreLogs() | DeletePods() | ReleasePod() | DeletePod():
                await _on_pods(deps, subject, action)
            case AddChildFinalizer() | RemoveChildFinalizer() | DeleteChild():
                await _on_child(deps, subject, action)
            case _:
                assert_never(action)
    return None


async def _on_job(
    deps: ActionDependencies, subject: ChildContext, action: JobAction, actions: Sequence[WorkAction]
) -> None:
    namespace = subject.seen.namespace
    match action:
        case SuspendJob(name=name, uid=uid):
            await deps.writes.merge(deps.jobs, name, namespace, uid, {"spec": {"suspend": True}})
        case SetTtl(name=name, uid=uid, seconds=seconds):
            # With the finalizer in one write: no moment in which the Job is free and would never go.
            released = [item.patch for item in actions if isinstance(item, ReleaseJob) and item.uid == uid]
            ttl = {"op": "add", "path": "/spec/ttlSecondsAfterFinished", "value": seconds}
            patch = [ttl, *(operation for item in released for operation in item)]
            await deps.writes.patch(deps.jobs, name, namespace, uid, patch)
        case ReleaseJob(name=name, uid=uid, patch=operations):
            if not any(isinstance(item, SetTtl) and item.uid == uid for item in actions):
                await deps.writes.patch(deps.jobs, name, namespace, uid, operations)
        case DeleteJob(name=name, uid=uid):
            await deps.writes.delete(deps.jobs, name, namespace, uid)
        case _:
            assert_never(action)


async def _on_pods(deps: ActionDependencies, subject: ChildContext, action: PodAction) -> None:
    seen = subject.seen
    match action:
        case EndDuplicate(name=name, uid=uid):
            message = (
                f"pod {name} is a second one of the same Job: it is ended, the first one's outcome counts"
            )
            _warn(deps, subject, Reason.DUPLICATE_EXECUTION, message)
            await deps.writes.merge(deps.pods, name, seen.namespace, uid, _DISOWNED)
            if (pod := deps.pods.cache.get(seen.namespace, name)) is not None and pod.uid == uid:
                await deps.writes.let_go(deps.pods, pod, OUTCOME_FINALIZER)
            await deps.writes.delete(deps.pods, name, seen.namespace, uid)
        case StoreLogs(pod=name, job=job, title=title):
            if deps.logs is not None:
                await deps.logs.keep(
                    namespace=seen.namespace,
                    uid=seen.uid,
                    pod=name,
                    container=subject.container,
                    job=job,
                    title=title,
                )
        case DeletePods(uids=uids):
            for pod in deps.pods.cache.by(CHILD_UID, seen.uid):
                if pod.uid in uids:
                    await deps.writes.delete(deps.pods, pod.name, seen.namespace, pod.uid)
        case ReleasePod(name=name, uid=uid, patch=operations):
            await deps.writes.patch(deps.pods, name, seen.namespace, uid, operations)
        case DeletePod(name=name, uid=uid):
            await deps.writes.delete(deps.pods, name, seen.namespace, uid)
        case _:
            assert_never(action)


async def _on_child(deps: ActionDependencies, subject: ChildContext, action: ChildAction) -> None:
    seen = subject.seen
    match action:
        case AddChildFinalizer():
            await deps.writes.hold(deps.children, seen, CLEANUP_FINALIZER)
        case RemoveChildFinalizer(left=left):
            if left:
                message = f"deleted while work may still run: {', '.join(left)}"
                _warn(deps, subject, Reason.CANCEL_TIMED_OUT, message)
            await deps.writes.let_go(deps.children, seen, CLEANUP_FINALIZER)
        case DeleteChild():
            await deps.writes.delete(deps.children, seen.name, seen.namespace, seen.uid)
        case _:
            assert_never(action)


def _warn(deps: ActionDependencies, subject: ChildContext, reason: Reason, message: str) -> None:
    deps.recorder.record(subject.reference, type="Warning", reason=reason, message=message)


async def _create(deps: ActionDependencies, subject: ChildContext, action: CreateJob) -> WorkRefused | None:
    """Created, or ours already: the name is a function of the child's uid and the attempt."""
    if subject.command is None:
        return None
    seen = subject.seen
    placement = _placement(deps, subject, action)
    if (refused := await _bring_files(deps, subject.command, placement, seen.uid)) is not None:
        return refused
    if subject.command.app_token is not None:
        try:
            made = await deps.tokens.make(subject.command.app_token, placement.namespace)
            secret = token_manifest(made, placement)
            await deps.client.create(SECRETS, secret)
        except (SignInRefused, Invalid, BadRequest) as error:
            return WorkRefused(message=str(error))
        placement = replace(placement, token_secret=secret["metadata"]["name"])
    manifest = job_manifest(subject.command, placement)
    try:
        job = await deps.client.create(JOBS, manifest)
    except AlreadyExists:
        job = await deps.client.get(JOBS, action.name, seen.namespace)
        if not is_controlled_by(job, seen.uid):
            return WorkRefused(message=f"a Job {action.name} that belongs to something else is in the way")
    except (Invalid, BadRequest) as error:
        return WorkRefused(message=error.message)
    deps.jobs.cache.record_write(job)
    return None


async def _bring_files(
    deps: ActionDependencies, command: Command, placement: Placement, uid: str
) -> WorkRefused | None:
    """Before the Job that mounts them. Their name is a function of their content: one that is there is this one."""
    for manifest in (claim_manifest(command, placement), files_manifest(command, placement)):
        if manifest is None:
            continue
        try:
            await deps.client.create(CONFIG_MAPS, manifest)
        except AlreadyExists:
            name = manifest["metadata"]["name"]
            found = await deps.client.get(CONFIG_MAPS, name, placement.namespace)
            if not is_controlled_by(found, uid) or found.get("data") != manifest["data"]:
                return WorkRefused(message=_in_the_way(found))
        except (Invalid, BadRequest) as error:
            return WorkRefused(message=error.message)
    return None


def _in_the_way(found: Mapping[str, Any]) -> str:
    owner = (found.get("data") or {}).get("owner")
    if owner:
        return f"{owner} has the same idempotencyKey and came first"
    return f"a ConfigMap {found['metadata']['name']} that belongs to something else is in the way"


def _placement(deps: ActionDependencies, subject: ChildContext, action: CreateJob) -> Placement:
    seen = subject.seen
    handed_on = {name: value for name, value in seen.labels.items() if name in (RUN_UID, STEP)}
    bound = subject.timeout + deps.stop_bound if subject.timeout else MAX_RUN
    return Placement(
        name=action.name,
        namespace=seen.namespace,
        owner=owner_reference(deps.children.resource, seen),
        labels={**MANAGED_BY, **handed_on, CHILD_UID: seen.uid},
        container=subject.container,
        deadline=bound,
        service_account=deps.service_account,
        security_context=deps.security_context,
        max_grace=deps.max_grace,
        share_processes=deps.share_processes,
    )
