"""Reconciles pods: plans, starts and stops containers, and writes the status."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from kubekit.cache.object_cache import Cache, Change
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS
from kubekit.client.errors import NotFound
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder
from kubekit.times import parse_rfc3339, rfc3339_seconds
from picokube.nodeagent.data_directory import AgentPaths
from picokube.nodeagent.lifecycle_events import (
    EventDeduplicator,
    containers_backing_off,
    containers_started,
    containers_stopping,
)
from picokube.nodeagent.object_writes import TERMINAL_PHASES, Writer
from picokube.nodeagent.pods.container_request import (
    ContainerContext,
    container_named,
    container_start_request,
    references,
    request_size,
)
from picokube.nodeagent.pods.environment import ConfigProblem, ExpansionTooLarge
from picokube.nodeagent.pods.pod_plan import DEFAULT_GRACE, PodPlan, known_runs, latest_runs, plan_pod
from picokube.nodeagent.pods.pod_status import PodObservation, Waiting, is_same, pod_status
from picokube.nodeagent.pods.process_mode import ProcessMode, unsupported_fields
from picokube.nodeagent.pods.volume_files import ApiAccess
from picokube.nodeagent.supervisor.cri_log import log_path, previous_path
from picokube.nodeagent.supervisor.protocol import Run, RunKey
from picokube.nodeagent.supervisor_link import StartRefused, SupervisorGone, SupervisorLink

MAX_MESSAGE_LENGTH = 4096
MAX_LOG = 2048
MAX_LOG_LINES = 80
_HEADER_FIELDS = 3
log = logging.getLogger("picokube.nodeagent")
STOPPING_STATUS_DELAY = timedelta(seconds=1)
"""Delay of the status of a stopping pod: most end sooner, and the deletion timestamp already shows it."""
RUNNING_STATUS_DELAY = timedelta(milliseconds=100)
"""Delay of the status of a running pod: one that ends sooner needs one write."""
RETRY_SECONDS = 2.0
RECONNECT_SECONDS = 0.1
_RESOURCES = {
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
    "PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIMS,
}


def termination_message(pod: Mapping[str, Any], run: Run, paths: AgentPaths, *, is_latest: bool) -> str:
    key = run.key
    message = _read_tail(paths.termination(key.pod, key.container, key.restart), MAX_MESSAGE_LENGTH)
    if message:
        return message.decode(errors="replace")
    policy = container_named(pod, key.container).get("terminationMessagePolicy")
    if policy != "FallbackToLogsOnError" or run.code == 0:
        return ""
    path = log_path(paths.logs, key.pod, key.container)
    lines = _read_tail(path if is_latest else previous_path(path), 2 * MAX_LOG).split(b"\n")[
        -MAX_LOG_LINES - 1 :
    ]
    return b"\n".join(_text(line) for line in lines)[-MAX_LOG:].decode(errors="replace")


def _text(line: bytes) -> bytes:
    """The line without timestamp, stream and tag."""
    parts = line.split(b" ", _HEADER_FIELDS)
    return parts[_HEADER_FIELDS] if len(parts) > _HEADER_FIELDS else b""


def _read_tail(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - max_bytes, 0))
            return file.read(max_bytes)
    except OSError:
        return b""


class PodController:
    """Reconciles pods that are bound to this node."""

    def __init__(
        self,
        client: Client,
        pods: Cache,
        link: SupervisorLink,
        mode: ProcessMode,
        events: EventRecorder,
        *,
        node: str,
        server: str = "",
        now: Callable[[], datetime],
    ) -> None:
        self._access = ApiAccess(client=client, paths=mode.paths, server=server)
        self._client, self._pods, self._link, self._mode, self._events = client, pods, link, mode, events
        self._writer = Writer(client, PODS, pods)
        self._deduplicator = EventDeduplicator()
        self._node = node
        self._refused_pods: dict[Key, None] = {}
        self._now = now

    def needs_reconcile(self, change: Change) -> bool:
        """Whether a change needs a pass. Deleted pods and pods whose final status is written don't."""
        if change.new is None:
            return False
        return not self._link.is_up or not self._is_finished(change.new.view)

    async def reconcile(self, key: Key) -> Result:
        cached = self._pods.get(key.namespace, key.name)
        if cached is None:
            return DONE
        pod = cached.decode()
        is_on_node = pod["spec"].get("nodeName") == self._node
        if not is_on_node and not (cached.is_being_deleted and not pod["spec"].get("nodeName")):
            return DONE
        await self._link.connected()
        if self._is_finished(pod):
            return DONE
        try:
            return await self._advance(pod)
        except SupervisorGone:
            # The link reconnects by itself and then knows what was started.
            return RequeueAfter(RECONNECT_SECONDS)

    def _is_finished(self, pod: Obj) -> bool:
        """Whether the final status is written, nothing is running and the pod needn't be deleted."""
        meta = pod["metadata"]
        if (pod.get("status") or {}).get("phase") not in TERMINAL_PHASES or _awaits_node_deletion(meta):
            return False
        return all(run.is_over for run in self._link.runs_of(meta["uid"]))

    async def _advance(self, pod: Obj) -> Result:
        uid = pod["metadata"]["uid"]
        waiting: dict[str, Waiting] = {}
        plan = self._plan(pod)
        for stop in plan.stop:
            self._link.stop(stop.key, stop.grace)
        stops = [(stop.key.container, stop.key.restart) for stop in plan.stop]
        containers_stopping(self._events, self._deduplicator, pod, stops)
        containers_backing_off(self._events, self._deduplicator, pod, plan.backing_off)
        if plan.start:
            waiting = await self._start(pod, plan.start)
            plan = self._plan(pod)
        runs = known_runs(pod, self._link.runs_of(uid), now=self._now())
        observation = PodObservation(
            runs=runs, waiting=waiting, messages=self._messages(pod, runs), mode=self._mode.condition
        )
        status = pod_status(pod, plan, observation, now=self._now())
        delay = await self._write_status(pod, plan, status, is_waiting=bool(waiting))
        if delay is not None:
            return RequeueAfter(delay)
        if plan.is_over:
            await self._finish(pod)
            return DONE
        return self._requeue(plan, is_waiting=bool(waiting))

    def _plan(self, pod: Obj) -> PodPlan:
        runs = known_runs(pod, self._link.runs_of(pod["metadata"]["uid"]), now=self._now())
        unsupported = [] if runs else unsupported_fields(pod, self._mode.host)
        return plan_pod(pod, runs, now=self._now(), unsupported=unsupported)

    async def _start(self, pod: Obj, keys: Sequence[RunKey]) -> dict[str, Waiting]:
        """Start containers. Returns why those that can't start yet are waiting."""
        objects = await self._referenced_objects(pod)

        def find(kind: str, name: str) -> Obj | None:
            return objects.get((kind, name))

        server_env = await self._access.prepare(pod) if self._mode.uses_namespaces else {}
        context = ContainerContext(
            paths=self._mode.paths,
            host=self._mode.host,
            namespaces=self._mode.uses_namespaces,
            inherited={**self._mode.inherited, **server_env},
            programs=self._mode.programs,
        )
        waiting: dict[str, Waiting] = {}
        requests = []
        for key in keys:
            try:
                requests.append(
                    await evaluated(
                        partial(container_start_request, pod, key, context, find), size=request_size(pod, key)
                    )
                )
            except (ConfigProblem, ExpansionTooLarge, OSError) as error:
                waiting[key.container] = Waiting(reason="CreateContainerConfigError", message=str(error))
                self._events.record(pod, type="Warning", reason="Failed", message=f"Error: {error}")
        self._mode.report_ignored_images(pod, self._events)
        results = await asyncio.gather(
            *(self._link.start(request) for request in requests), return_exceptions=True
        )
        started = []
        for request, result in zip(requests, results, strict=True):
            match result:
                case StartRefused(refusal=refusal):
                    waiting[request.key.container] = Waiting(reason=refusal.reason, message=refusal.message)
                    self._refused_pods[Key(pod["metadata"]["namespace"], pod["metadata"]["name"])] = None
                case BaseException():
                    raise result
                case run:
                    started.append(run)
        containers_started(self._events, pod, started)
        return waiting

    def next_refused_pod(self) -> Key | None:
        """A pod whose start was refused, to retry when another container has ended."""
        key = next(iter(self._refused_pods), None)
        if key is not None:
            del self._refused_pods[key]
        return key

    async def _referenced_objects(self, pod: Obj) -> Mapping[tuple[str, str], Obj]:
        keys = sorted(references(pod))

        async def get(kind: str, name: str) -> Obj | None:
            try:
                obj = await self._client.get(_RESOURCES[kind], name, pod["metadata"]["namespace"])
            except NotFound:
                return None
            return {"kind": kind, **obj}

        objects = await asyncio.gather(*(get(kind, name) for kind, name in keys))
        return {key: obj for key, obj in zip(keys, objects, strict=True) if obj is not None}

    def _messages(self, pod: Obj, runs: list[Run]) -> dict[RunKey, str]:
        latest = latest_runs(runs)
        return {
            run.key: termination_message(
                pod, run, self._mode.paths, is_latest=latest[run.key.container].key == run.key
            )
            for run in runs
            if run.is_over and run.key.restart >= latest[run.key.container].key.restart - 1
        }

    async def _write_status(self, pod: Obj, plan: PodPlan, status: Obj, *, is_waiting: bool) -> float | None:
        """Write a changed status now, or return the seconds to wait before writing it."""
        old = pod.get("status") or {}
        if old.get("phase") in TERMINAL_PHASES or is_same(old, status):
            return None
        if plan.stop:
            delay = (_stopping_since(pod) + STOPPING_STATUS_DELAY - self._now()).total_seconds()
            if delay > 0:
                return delay
        elif not plan.is_over and not is_waiting:
            started_at = parse_rfc3339(status["startTime"])
            runs = self._link.runs_of(pod["metadata"]["uid"])
            if runs:
                started_at = datetime.fromtimestamp(max(run.started_at for run in runs), started_at.tzinfo)
            delay = (started_at + RUNNING_STATUS_DELAY - self._now()).total_seconds()
            if delay > 0 and not any(run.is_over for run in runs):
                return delay
        await self._writer.patch_status(pod, status)
        return None

    async def _finish(self, pod: Obj) -> None:
        """Discard the files of a pod that has ended, and delete it if its deletion was requested."""
        self._mode.discard(pod)
        if _awaits_node_deletion(pod["metadata"]):
            await self._writer.delete(pod, grace_seconds=0)

    def stop(self, pod: Obj) -> None:
        """Stop the containers of a pod before it is deleted. Only if they would not be restarted."""
        spec, meta = pod["spec"], pod["metadata"]
        if spec.get("restartPolicy") != "Never":
            return
        grace = timedelta(seconds=spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE))
        deleted = {
            **pod,
            "metadata": {**meta, "deletionTimestamp": rfc3339_seconds(self._now() + grace)},
        }
        for stop in self._plan(deleted).stop:
            self._link.stop(stop.key, stop.grace)

    def _requeue(self, plan: PodPlan, *, is_waiting: bool) -> Result:
        delays = [RETRY_SECONDS] if is_waiting else []
        if plan.requeue_at is not None:
            delays.append(max((plan.requeue_at - self._now()).total_seconds(), 0.0))
        return RequeueAfter(min(delays)) if delays else DONE


def _awaits_node_deletion(meta: Obj) -> bool:
    """Whether the node must complete the pod's deletion. With a grace period of 0, only finalizers delay it."""
    return bool(meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") != 0)


def _stopping_since(pod: Obj) -> datetime:
    """When the deletion was requested. The minimum time if the pod stops for another reason, which isn't delayed."""
    meta = pod["metadata"]
    if not meta.get("deletionTimestamp"):
        return datetime.min.replace(tzinfo=UTC)
    return parse_rfc3339(meta["deletionTimestamp"]) - timedelta(
        seconds=meta.get("deletionGracePeriodSeconds") or 0
    )
