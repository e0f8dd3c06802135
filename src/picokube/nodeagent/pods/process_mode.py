"""How containers run on this host, how pods report it, and which pod fields local processes can't emulate.

Unsupported fields are rejected. Purely advisory fields are ignored. A condition on each pod and an Event for each image
report the mode.
"""

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kubekit.client.api_client import Obj
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.data_directory import AgentPaths, shared_scratch
from picokube.nodeagent.supervisor_link import SupervisorLink

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where a cluster puts it
VOLUMES = ("configMap", "secret", "emptyDir", "persistentVolumeClaim", "downwardAPI", "projected", "hostPath")
PROJECTED = ("configMap", "secret", "downwardAPI")
KERNEL_PATHS = ("/proc", "/sys", "/dev")
"""Kernel file systems, which every program needs unchanged."""
MOUNTABLE_KERNEL_PATHS = ("/dev/shm", "/dev/termination-log")  # noqa: S108 - a path of containers
SYSTEM_PATHS = ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/run", "/sbin", "/usr")
"""Host programs and their configuration. Paths below them that don't exist on the host can be mounted."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_COMMON = "containers run as local processes (isolation: {}); images and resource limits are ignored; "
_MOUNTED = "volumes are mounted at their mount paths in a mount namespace"
_MAPPED = (
    "volumes are local directories: their paths replace the mount paths in command, args and env, and readOnly is not "
    "enforced"
)
WITHOUT_NAMESPACES = "subreaper"
MAX_REPORTED_IMAGES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The user and group of the agent, and the host's file system."""

    user: int
    group: int
    real_path: Callable[[str], str] = os.path.realpath
    exists: Callable[[str], bool] = os.path.exists

    @property
    def is_root(self) -> bool:
        return self.user == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProgram:
    """A program and the directories that it needs."""

    path: str
    needs: tuple[str, ...]


def unsupported_fields(pod: Obj, host: Host) -> list[str]:
    """A message for each unsupported field, starting with the field path. Empty if the pod can run."""
    spec = pod["spec"]
    return [
        *_pod_fields(spec, host),
        *_volumes(spec),
        *(
            problem
            for group in ("initContainers", "containers")
            for n, container in enumerate(spec.get(group) or ())
            for problem in _container(f"spec.{group}[{n}]", container, host)
        ),
    ]


def _pod_fields(spec: Obj, host: Host) -> Iterator[str]:
    if spec.get("ephemeralContainers"):
        yield "spec.ephemeralContainers: not supported in process mode"
    if spec.get("hostUsers") is False:
        yield "spec.hostUsers: false (a separate user namespace) is not supported in process mode"
    if spec.get("runtimeClassName"):
        yield "spec.runtimeClassName: not supported in process mode"
    security = spec.get("securityContext") or {}
    yield from _identity("spec.securityContext", security, host)
    if security.get("sysctls"):
        yield "spec.securityContext.sysctls: not supported in process mode: processes share the host's settings"


def _identity(field: str, security: Obj, host: Host) -> Iterator[str]:
    """Without root, processes run as the agent's user. Another unprivileged user is accepted, because it has no more
    privileges.
    """
    if host.is_root:
        return
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        if security.get(name) == 0:
            yield f"{field}.{name}: 0 requires a node agent that runs as root"
    if set(security.get("supplementalGroups") or ()) - {host.group}:
        yield f"{field}.supplementalGroups: requires a node agent that runs as root"


def _container(field: str, container: Obj, host: Host) -> Iterator[str]:
    if not container.get("command"):
        yield (
            f"{field}.command: required in process mode, which ignores the image {container.get('image', '')!r} and "
            "its entrypoint"
        )
    policy = container.get("restartPolicy")
    if policy is not None and not (policy == "Always" and "initContainers" in field):
        yield f"{field}.restartPolicy: {policy} is not supported for a single container in process mode"
    for name in _PROBES:
        if container.get(name):
            yield f"{field}.{name}: probes are not supported in process mode"
    for name in container.get("lifecycle") or ():
        if name in ("postStart", "preStop"):
            yield f"{field}.lifecycle.{name}: hooks are not supported in process mode"
    yield from _privileges(field, container, host)
    yield from _devices(field, container, host)


def _privileges(field: str, container: Obj, host: Host) -> Iterator[str]:
    security = container.get("securityContext") or {}
    yield from _identity(f"{field}.securityContext", security, host)
    if security.get("privileged"):
        yield f"{field}.securityContext.privileged: not supported in process mode"
    if (security.get("capabilities") or {}).get("add"):
        yield f"{field}.securityContext.capabilities.add: not supported in process mode"


def _mount_paths(field: str, container: Obj, host: Host) -> Iterator[str]:
    """Containers share the host's root: a volume over a system path would break host programs."""
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        path = PurePosixPath(host.real_path(mount["mountPath"]))
        if path == PurePosixPath("/"):
            yield f"{field}.volumeMounts[{n}].mountPath: / is the host's root in process mode: choose another path"
        elif _is_below(path, KERNEL_PATHS) and not _is_below(path, MOUNTABLE_KERNEL_PATHS):
            yield (
                f"{field}.volumeMounts[{n}].mountPath: {mount['mountPath']} is a kernel file system in process mode: "
                "choose another path"
            )
        elif _is_below(path, SYSTEM_PATHS) and host.exists(str(path)):
            yield (
                f"{field}.volumeMounts[{n}].mountPath: {mount['mountPath']} is a system path of the host, which "
                "containers share in process mode: choose a path that does not exist on the host"
            )


def _is_below(path: PurePosixPath, directories: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)


def _devices(field: str, container: Obj, host: Host) -> Iterator[str]:
    if container.get("volumeDevices"):
        yield f"{field}.volumeDevices: block devices are not supported in process mode"
    if container.get("tty"):
        yield f"{field}.tty: terminals are not supported in process mode"
    for n, port in enumerate(container.get("ports") or ()):
        if port.get("hostPort") not in (None, 0, port.get("containerPort")):
            yield f"{field}.ports[{n}].hostPort: must equal containerPort {port.get('containerPort')} in process mode"
    yield from _mount_paths(field, container, host)
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("mountPropagation") not in (None, "None"):
            yield f"{field}.volumeMounts[{n}].mountPropagation: only None is supported in process mode"
    for n, env in enumerate(container.get("env") or ()):
        if (env.get("valueFrom") or {}).get("fileKeyRef"):
            yield f"{field}.env[{n}].valueFrom.fileKeyRef: not supported in process mode"


def _volumes(spec: Obj) -> Iterator[str]:
    for n, volume in enumerate(spec.get("volumes") or ()):
        kinds = [name for name in volume if name != "name"]
        for kind in kinds:
            if kind not in VOLUMES:
                yield f"spec.volumes[{n}].{kind}: not supported in process mode (supported: {', '.join(VOLUMES)})"
        if is_token(spec, volume["name"]):
            continue
        for m, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            for kind in source:
                if kind not in PROJECTED:
                    yield f"spec.volumes[{n}].projected.sources[{m}].{kind}: not supported in process mode"


def is_token(spec: Obj, volume: str) -> bool:
    """Whether a volume is the service account token volume that admission adds to pods."""
    if not volume.startswith("kube-api-access-"):
        return False
    return all(
        mount.get("mountPath") == TOKEN_PATH
        for group in ("initContainers", "containers")
        for container in spec.get(group) or ()
        for mount in container.get("volumeMounts") or ()
        if mount["name"] == volume
    )


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
