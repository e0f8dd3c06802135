"""How containers run on this host, and how pods report it: a condition on each pod and an Event for each image."""

import shutil
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubekit.client.api_client import Obj
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.pods.host_programs import HostProgram
from picokube.nodeagent.pods.shared_scratch import shared_scratch
from picokube.nodeagent.pods.spec_checks import Host
from picokube.nodeagent.pods.volume_files import AgentPaths
from picokube.nodeagent.supervisor_link import SupervisorLink

_COMMON = "containers run as local processes (isolation: {}); images and resource limits are ignored; "
_MOUNTED = "volumes are mounted at their mount paths in a mount namespace"
_MAPPED = (
    "volumes are local directories: their paths replace the mount paths in command, args and env, and readOnly is not "
    "enforced"
)
WITHOUT_NAMESPACES = "subreaper"
MAX_REPORTED_IMAGES = 10_000


@dataclass(slots=True, kw_only=True)
class ProcessMode:
    """The process settings of all pods, and the files of ended pods to remove."""

    data: Path
    host: Host
    inherited: Mapping[str, str]
    link: SupervisorLink
    may_use_namespaces: bool = True
    programs: tuple[HostProgram, ...] = ()
    _reported_images: set[tuple[str, str]] = field(default_factory=set)
    _discarded: deque[Obj] = field(default_factory=deque)

    @property
    def paths(self) -> AgentPaths:
        """The directories of the agent. Recreates a missing shared directory."""
        if self.host.is_root and self.link.is_up and not self.uses_namespaces:
            return AgentPaths(data=self.data, shared=shared_scratch(self.data))
        return AgentPaths(data=self.data)

    @property
    def uses_namespaces(self) -> bool:
        return self.may_use_namespaces and self.link.namespaces

    @property
    def condition(self) -> Obj:
        """Reason and message of the pod's ProcessMode condition."""
        if self.uses_namespaces:
            return {"reason": "MountNamespace", "message": _COMMON.format(self.isolation) + _MOUNTED}
        return {"reason": "PathMapping", "message": _COMMON.format(self.isolation) + _MAPPED}

    @property
    def isolation(self) -> str:
        """The isolation level of containers."""
        return self.link.isolation if self.uses_namespaces else WITHOUT_NAMESPACES

    def report_ignored_images(self, pod: Obj, events: EventRecorder) -> None:
        """Record an Event for the first pod of each image in a namespace."""
        for container in pod["spec"]["containers"]:
            namespace, image = pod["metadata"]["namespace"], container.get("image", "")
            if (namespace, image) not in self._reported_images and len(
                self._reported_images
            ) < MAX_REPORTED_IMAGES:
                self._reported_images.add((namespace, image))
                message = f"image {image!r} is ignored: {self.condition['message']}"
                events.record(pod, type="Normal", reason="ImageIgnored", message=message)

    def discard(self, pod: Obj) -> None:
        """Schedule the removal of the pod's files, which can be slow."""
        self._discarded.append(pod)

    def remove_discarded(self) -> None:
        """Remove the files of discarded pods. Blocks."""
        while self._discarded:
            self._remove_files(self._discarded[0])
            self._discarded.popleft()

    def _remove_files(self, pod: Obj) -> None:
        """Remove the files of a pod except logs and persistent volume claims."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        paths = self.paths
        for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            paths.remove_scratch(uid, container["name"])
        paths.remove_tmp(uid)
        if spec.get("volumes"):
            shutil.rmtree(paths.pod(uid), ignore_errors=True)
