"""How containers run on this machine, and how it is told: in the status of each pod, and in an Event now and then."""

import shutil
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from jangar.kube.client import Obj
from jangar.kube.event_recorder import EventRecorder
from jangar.nodeagent.pods.own_programs import OwnProgram
from jangar.nodeagent.pods.spec_checks import Host
from jangar.nodeagent.pods.volume_files import Places
from jangar.nodeagent.supervisor_link import SupervisorLink

_COMMON = "containers are local processes; images, resource limits and isolation settings are ignored; "
_MOUNTED = "volumes stand at their mount paths in a mount namespace"
_MAPPED = (
    "volumes are directories of this machine: their mount paths were replaced in command, args and env, and readOnly "
    "is not enforced"
)
MOST_TOLD = 10_000


@dataclass(slots=True, kw_only=True)
class ProcessMode:
    """What is the same for all pods."""

    places: Places
    host: Host
    inherited: Mapping[str, str]
    link: SupervisorLink
    may_use_namespaces: bool = True
    programs: tuple[OwnProgram, ...] = ()
    _told: set[tuple[str, str]] = field(default_factory=set)
    _discarded: deque[Obj] = field(default_factory=deque)

    @property
    def uses_namespaces(self) -> bool:
        return self.may_use_namespaces and self.link.namespaces

    @property
    def condition(self) -> Obj:
        """Reason and message of the pod's condition."""
        if self.uses_namespaces:
            return {"reason": "MountNamespace", "message": _COMMON + _MOUNTED}
        return {"reason": "PathMapping", "message": _COMMON + _MAPPED}

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
            self._remove_files(self._discarded.popleft())

    def _remove_files(self, pod: Obj) -> None:
        """What a pod had on disk, but not its logs and not its claims."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            self.places.remove_scratch(uid, container["name"])
        if spec.get("volumes"):
            shutil.rmtree(self.places.pod(uid), ignore_errors=True)
