"""A kubelet for tests on a real API server: binds pods, runs their commands as processes, and reports like a node.

Behaves normally by default; `Manners` make it misbehave on demand. No images, volumes or probes: tests use only the
command. A container finds the path for its result in JANGAR_RESULT_PATH.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from kubekit.cache.informer import Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import NODES, PODS
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.client.resource import Resource

NODE = "fake-node"
BINDINGS = Resource(group="", version="v1", plural="bindings", kind="Binding")
RESULT = "JANGAR_RESULT_PATH"
RESULT_LIMIT = 4096


class Fate(StrEnum):
    """An action of the node on a pod."""

    LIVES = "Lives"
    EVICTED = "Evicted"
    """Ended a second after its start because the node needs resources."""
    OUT_OF_MEMORY = "OutOfMemory"
    """Killed by the kernel a second after its start."""
    NO_IMAGE = "NoImage"
    """Never starts: its image cannot be pulled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the kubelet treats pods; each function gets the pod."""

    starts: Callable[[Cached], bool] = lambda _: True
    reports_end: Callable[[Cached], bool] = lambda _: True
    fate: Callable[[Cached], Fate] = lambda _: Fate.LIVES
    delay: float = 0.0
    """Delay between the end of a container and its report."""


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None]
    pod: Cached
    process: asyncio.subprocess.Process | None = None
    stop_requested: asyncio.Event = field(default_factory=asyncio.Event)


class FakeKubelet:
    """One node for all namespaces. `run` ends by cancellation and kills the processes that it started."""

    def __init__(self, client: Client, manners: Manners | None = None) -> None:
        self._client = client
        self.manners = manners or Manners()
        self.pods = Informer(client, PODS, namespaces=Namespaces.every())
        self._running: dict[str, _Running] = {}
        self.started: list[str] = []
        """Names of the pods whose command was started, in order."""

    async def run(self) -> None:
        await self._register()
        self.pods.subscribe(self._on_change)
        try:
            await self.pods.run()
        finally:
            for item in self._running.values():
                item.task.cancel()
                _kill(item.process)

    async def _register(self) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        with contextlib.suppress(AlreadyExists):
            await self._client.create(NODES, node)

    def _on_change(self, change: Change) -> None:
        pod = change.new
        if pod is None:
            gone = self._running.pop(change.subject.uid, None)
            if gone is not None:
                _kill(gone.process)
            return
        running = self._running.get(pod.uid)
        if running is not None:
            running.pod = pod
            if pod.is_being_deleted:
                running.stop_requested.set()
        elif self._is_new(pod) and self.manners.starts(pod):
            self._running[pod.uid] = _Running(task=asyncio.create_task(self._live(pod)), pod=pod)
        elif pod.is_being_deleted:
            self._running[pod.uid] = _Running(task=asyncio.create_task(self._bury(pod)), pod=pod)

    def _is_new(self, pod: Cached) -> bool:
        status = pod.decode().get("status") or {}
        return not pod.is_being_deleted and status.get("phase", "Pending") == "Pending"

    async def _bury(self, pod: Cached) -> None:
        """Delete a terminating pod that never ran, or whose end was reported, at once."""
        status = pod.decode().get("status") or {}
        if status.get("phase") not in ("Succeeded", "Failed"):
            await self._report(pod, {"phase": "Failed", "reason": "NeverStarted"})
        await self._remove(pod)

    async def _live(self, pod: Cached) -> None:
        with contextlib.suppress(NotFound):
            await self._bind(pod)
            container = pod.decode()["spec"]["containers"][0]
            if self.manners.fate(pod) is Fate.NO_IMAGE:
                await self._never_pull(pod, container)
                return
            with tempfile.TemporaryDirectory(prefix="fake-kubelet-") as directory:
                await self._execute(pod, container, Path(directory) / "result")
            running = self._running.get(pod.uid)
            if running is not None and self.manners.reports_end(running.pod):
                await running.stop_requested.wait()
                await self._remove(running.pod)

    async def _never_pull(self, pod: Cached, container: dict[str, Any]) -> None:
        waiting = {"reason": "ImagePullBackOff", "message": f"cannot pull {container.get('image')}"}
        await self._report(pod, _status("Pending", container, {"waiting": waiting}))
        running = self._running[pod.uid]
        await running.stop_requested.wait()
        await self._report(pod, {"phase": "Failed"})
        await self._remove(running.pod)

    async def _bind(self, pod: Cached) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        }
        if not pod.decode()["spec"].get("nodeName"):
            with contextlib.suppress(Conflict, AlreadyExists):
                await self._client.create(BINDINGS, binding)

    async def _execute(self, pod: Cached, container: dict[str, Any], result: Path) -> None:
        given = {
            item["name"]: item.get("value", "").replace("$$", "$") for item in container.get("env") or ()
        }
        environment = {"PATH": os.environ["PATH"], **given, RESULT: str(result)}
        written = [*(container.get("command") or ()), *(container.get("args") or ())]
        words = [word.replace("$$", "$") for word in written]
        try:
            process = await asyncio.create_subprocess_exec(
                *words, env=environment, start_new_session=True, stdout=asyncio.subprocess.DEVNULL
            )
        except FileNotFoundError:
            await self._report(pod, _status("Failed", container, {"terminated": _not_found(words[0])}))
            return
        self.started.append(pod.name)
        running = self._running[pod.uid]
        running.process = process
        began = _now()
        await self._report(pod, _status("Running", container, {"running": {"startedAt": began}}))
        fate = self.manners.fate(pod)
        await self._until_end(running, process, fate)
        finished = _now()
        if self.manners.delay:
            await asyncio.sleep(self.manners.delay)
        if not self.manners.reports_end(running.pod):
            return
        code = process.returncode or 0
        ended = {
            "exitCode": code if code >= 0 else 128 - code,
            "reason": "OOMKilled" if fate is Fate.OUT_OF_MEMORY else "Completed" if code == 0 else "Error",
            "startedAt": began,
            "finishedAt": finished,
            **_termination_message(result),
        }
        phase = "Succeeded" if code == 0 else "Failed"
        evicted = {"reason": "Evicted", "message": "The node was low on resource: memory."}
        reported = _status(phase, container, {"terminated": ended})
        await self._report(pod, reported | evicted if fate is Fate.EVICTED else reported)

    async def _until_end(self, running: _Running, process: asyncio.subprocess.Process, fate: Fate) -> None:
        over = asyncio.create_task(process.wait())
        stop = asyncio.create_task(running.stop_requested.wait())
        try:
            bound = None if fate is Fate.LIVES else 1.0
            await asyncio.wait({over, stop}, return_when=asyncio.FIRST_COMPLETED, timeout=bound)
            if not over.done() and fate is Fate.LIVES:
                _signal(process, signal.SIGTERM)
                grace = running.pod.decode()["metadata"].get("deletionGracePeriodSeconds") or 0
                await asyncio.wait({over}, timeout=grace)
            if not over.done():
                _signal(process, signal.SIGKILL)
            await over
        finally:
            over.cancel()
            stop.cancel()

    async def _report(self, pod: Cached, status: dict[str, Any]) -> None:
        body = {"metadata": {"uid": pod.uid}, "status": status}
        with contextlib.suppress(NotFound, Conflict):
            await self._client.patch(
                PODS, pod.name, pod.namespace, body, kind=PatchKind.STRATEGIC, subresource="status"
            )

    async def _remove(self, pod: Cached) -> None:
        with contextlib.suppress(ApiError):
            await self._client.delete(PODS, pod.name, pod.namespace, uid=pod.uid, grace_seconds=0)


def _status(phase: str, container: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    ready = "running" in state
    return {
        "phase": phase,
        "startTime": _now(),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container.get("image", ""),
                "imageID": "",
                "ready": ready,
                "restartCount": 0,
                "state": state,
            }
        ],
    }


def _message(result: Path) -> dict[str, str]:
    return {"message": result.read_text()[:RESULT_LIMIT]} if result.exists() else {}


def _termination_message(result: Path) -> dict[str, str]:
    """As a kubelet reads them: the end of the file, truncated silently."""
    return {"message": result.read_text()[-RESULT_LIMIT:]} if result.exists() else {}


def _not_found(program: str) -> dict[str, Any]:
    """The message of containerd for a program that the image does not have."""
    message = f'exec: "{program}": executable file not found in $PATH'
    return {
        "exitCode": 128,
        "reason": "StartError",
        "message": message,
        "startedAt": "1970-01-01T00:00:00Z",
        "finishedAt": _now(),
    }


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _kill(process: asyncio.subprocess.Process | None) -> None:
    if process is not None and process.returncode is None:
        _signal(process, signal.SIGKILL)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
