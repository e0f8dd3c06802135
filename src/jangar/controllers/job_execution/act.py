"""Executes the actions of a plan. Every call is idempotent: if its effect is already there, it succeeds."""

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
    DeleteJob,
    DeletePod,
    DeletePods,
    EndDuplicate,
    ReleaseJob,
    ReleasePod,
    RemoveChildFinalizer,
    SetTtl,
    StoreLogs,
    SuspendJob,
    WorkAction,
)
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER, OUTCOME_FINALIZER
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import WorkRefused
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

# Otherwise the Job counts the end of the duplicate as its own failure and ends the first pod too.
_WITHOUT_OWNER: Final = {
    "metadata": {
        "ownerReferences": None,
        "labels": {"batch.kubernetes.io/controller-uid": None, "controller-uid": None},
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """What executing actions needs."""

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

    child: Cached
    reference: ObjectReference
    command: Command | None
    container: str
    """The container whose log is stored."""
    timeout: timedelta | None


async def act(
    deps: ActionDependencies, context: ChildContext, actions: Sequence[WorkAction]
) -> WorkRefused | None:
    """Execute the actions in order; returns a refusal if the API server rejects the Job for good."""
    for action in actions:
        match action:
            case CreateJob():
                return await _create(deps, context, action)
            case SuspendJob() | SetTtl() | ReleaseJob() | DeleteJob():
                await _on_job(deps, context, action, actions)
            case EndDuplicate() | StoreLogs() | DeletePods() | ReleasePod() | DeletePod():
                await _on_pods(deps, context, action)
            case AddChildFinalizer() | RemoveChildFinalizer() | DeleteChild():
                await _on_child(deps, context, action)
            case _:
                assert_never(action)
    return None


async def _on_job(
    deps: ActionDependencies, context: ChildContext, action: JobAction, actions: Sequence[WorkAction]
) -> None:
    namespace = context.child.namespace
    match action:
        case SuspendJob(name=name, uid=uid):
            await deps.writes.merge(deps.jobs, name, namespace, uid, {"spec": {"suspend": True}})
        case SetTtl(name=name, uid=uid, seconds=seconds):
            # One write with the finalizer: a Job without finalizer and TTL would never be deleted.
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


async def _on_pods(deps: ActionDependencies, context: ChildContext, action: PodAction) -> None:
    child = context.child
    match action:
        case EndDuplicate(name=name, uid=uid):
            message = (
                f"pod {name} duplicates another pod of its Job and is deleted; the first pod's outcome counts"
            )
            _warn(deps, context, Reason.DUPLICATE_EXECUTION, message)
            await deps.writes.merge(deps.pods, name, child.namespace, uid, _WITHOUT_OWNER)
            if (pod := deps.pods.cache.get(child.namespace, name)) is not None and pod.uid == uid:
                await deps.writes.let_go(deps.pods, pod, OUTCOME_FINALIZER)
            await deps.writes.delete(deps.pods, name, child.namespace, uid)
        case StoreLogs(pod=name, job=job, title=title):
            if deps.logs is not None:
                await deps.logs.keep(
                    namespace=child.namespace,
                    uid=child.uid,
                    pod=name,
                    container=context.container,
                    job=job,
                    title=title,
                )
        case DeletePods(uids=uids):
            for pod in deps.pods.cache.by(CHILD_UID, child.uid):
                if pod.uid in uids:
                    await deps.writes.delete(deps.pods, pod.name, child.namespace, pod.uid)
        case ReleasePod(name=name, uid=uid, patch=operations):
            await deps.writes.patch(deps.pods, name, child.namespace, uid, operations)
        case DeletePod(name=name, uid=uid):
            await deps.writes.delete(deps.pods, name, child.namespace, uid)
        case _:
            assert_never(action)


async def _on_child(deps: ActionDependencies, context: ChildContext, action: ChildAction) -> None:
    child = context.child
    match action:
        case AddChildFinalizer():
            await deps.writes.hold(deps.children, child, CLEANUP_FINALIZER)
        case RemoveChildFinalizer(left=left):
            if left:
                message = f"deleted while work may still run: {', '.join(left)}"
                _warn(deps, context, Reason.CANCEL_TIMED_OUT, message)
            await deps.writes.let_go(deps.children, child, CLEANUP_FINALIZER)
        case DeleteChild():
            await deps.writes.delete(deps.children, child.name, child.namespace, child.uid)
        case _:
            assert_never(action)


def _warn(deps: ActionDependencies, context: ChildContext, reason: Reason, message: str) -> None:
    deps.recorder.record(context.reference, type="Warning", reason=reason, message=message)


async def _create(deps: ActionDependencies, context: ChildContext, action: CreateJob) -> WorkRefused | None:
    """Create the Job, or find that it is ours: its name follows from the child's uid and the attempt."""
    if context.command is None:
        return None
    child = context.child
    placement = _placement(deps, context, action)
    if (refused := await _create_files(deps, context.command, placement, child.uid)) is not None:
        return refused
    if context.command.app_token is not None:
        try:
            token = await deps.tokens.create(context.command.app_token, placement.namespace)
            secret = token_manifest(token, placement)
            await deps.client.create(SECRETS, secret)
        except (SignInRefused, Invalid, BadRequest) as error:
            return WorkRefused(message=str(error))
        placement = replace(placement, token_secret=secret["metadata"]["name"])
    manifest = job_manifest(context.command, placement)
    try:
        job = await deps.client.create(JOBS, manifest)
    except AlreadyExists:
        job = await deps.client.get(JOBS, action.name, child.namespace)
        if not is_controlled_by(job, child.uid):
            return WorkRefused(message=f"a Job {action.name} that belongs to something else is in the way")
    except (Invalid, BadRequest) as error:
        return WorkRefused(message=error.message)
    deps.jobs.cache.record_write(job)
    return None


async def _create_files(
    deps: ActionDependencies, command: Command, placement: Placement, uid: str
) -> WorkRefused | None:
    """Create the ConfigMaps that the Job mounts. Names follow from content, so an existing one is the same."""
    for manifest in (claim_manifest(command, placement), files_manifest(command, placement)):
        if manifest is None:
            continue
        try:
            await deps.client.create(CONFIG_MAPS, manifest)
        except AlreadyExists:
            name = manifest["metadata"]["name"]
            existing = await deps.client.get(CONFIG_MAPS, name, placement.namespace)
            if not is_controlled_by(existing, uid) or existing.get("data") != manifest["data"]:
                return WorkRefused(message=_name_conflict(existing))
        except (Invalid, BadRequest) as error:
            return WorkRefused(message=error.message)
    return None


def _name_conflict(existing: Mapping[str, Any]) -> str:
    owner = (existing.get("data") or {}).get("owner")
    if owner:
        return f"{owner} has the same idempotencyKey and came first"
    return f"a ConfigMap {existing['metadata']['name']} that belongs to something else is in the way"


def _placement(deps: ActionDependencies, context: ChildContext, action: CreateJob) -> Placement:
    child = context.child
    inherited = {name: value for name, value in child.labels.items() if name in (RUN_UID, STEP)}
    deadline = context.timeout + deps.stop_bound if context.timeout else MAX_RUN
    return Placement(
        name=action.name,
        namespace=child.namespace,
        owner=owner_reference(deps.children.resource, child),
        labels={**MANAGED_BY, **inherited, CHILD_UID: child.uid},
        container=context.container,
        deadline=deadline,
        service_account=deps.service_account,
        security_context=deps.security_context,
        max_grace=deps.max_grace,
        share_processes=deps.share_processes,
    )
