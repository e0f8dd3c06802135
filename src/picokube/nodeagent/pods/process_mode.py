"""How containers run on this machine, and how it is told: in the status of each pod, and in an Event now and then."""

import shutil
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubekit.client.api_client import Obj
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.pods.own_programs import OwnProgram
from picokube.nodeagent.pods.shared_scratch import shared_scratch
from picokube.nodeagent.pods.spec_checks import Host
from picokube.nodeagent.pods.volume_files import Places
from picokube.nodeagent.supervisor_link import SupervisorLink

_COMMON = "containers are local processes (isolation: {}); images and resource limits are ignored; "
_MOUNTED = "volumes stand at their mount paths in a mount namespace"
_MAPPED = (
    "volumes are directories of this machine: their mount paths were replaced in command, args and env, and readOnly "
    "is not enforced"
)
WITHOUT_NAMESPACES = "subreaper"
MOST_TOLD = 10_000


@dataclass(slots=True, kw_only=True)
class ProcessMode:
    """What is the same for all pods."""

    data: Path
    host: Host
    inherited: Mapping[str, str]
    link: SupervisorLink
    may_use_namespaces: bool = True
    programs: tuple[OwnProgram, ...] = ()
    _told: set[tuple[str, str]] = field(default_factory=set)
    _discarded: deque[Obj] = field(default_factory=deque)

    @property
    def places(self) -> Places:
        """Where things are kept; a shared directory that vanished is made again."""
        if self.host.is_root and self.link.is_up and not self.uses_namespaces:
            return Places(data=self.data, shared=shared_scratch(self.data))
        return Places(data=self.data)

    @property
    def uses_namespaces(self) -> bool:
        return self.may_use_namespaces and self.link.namespaces

    @property
    def condition(self) -> Obj:
        """Reason and message of the pod's condition."""
        if self.uses_namespaces:
            return {"reason": "MountNamespace", "message": _COMMON.format(self.isolation) + _MOUNTED}
        return {"reason": "PathMapping", "message": _COMMON.format(self.isolation) + _MAPPED}

    @property
    def isolation(self) -> str:
        """How processes of a container are kept apart from others and ended with it."""
        return self.link.isolation if self.uses_namespaces else WITHOUT_NAMESPACES

    def tell_once(self, pod: Obj, events: EventRecorder) -> None:
        """An Event for the first pod of each image in a namespace: one for each pod would say nothing more."""
        for container in pod["spec"]["containers"]:
            image = (pod["metadata"]["namespace"], container.get("image", ""))
            if image not in self._told and len(self._told) < MOST_TOLD:
                self._told.add(image)
                message = f"image {image[1]!r} is ignored: {self.condition['message']}"
                events.record(pod, type="Normal", reason="ImageIgnored", message=message)

    def discard(self, pod: Obj) -> None:
        """Have its files removed, in a while: nobody waits for it, and a disk may take its time."""
        self._discarded.append(pod)

    def remove_discarded(self) -> None:
        """Blocks; for a thread."""
        while self._discarded:
            self._remove_files(self._discarded[0])
            self._discarded.popleft()

    def _remove_files(self, pod: Obj) -> None:
        """What a pod had on disk, but not its logs and not its claims."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        places = self.places
        for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            places.remove_scratch(uid, container["name"])
        places.remove_tmp(uid)
        if spec.get("volumes"):
            shutil.rmtree(places.pod(uid), ignore_errors=True)
