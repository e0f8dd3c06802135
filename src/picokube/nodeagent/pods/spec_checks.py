"""Fields of a pod that processes cannot honour, by name. What is ignored instead, no program relies on."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

Obj = Mapping[str, Any]

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where a cluster puts it
VOLUMES = ("configMap", "secret", "emptyDir", "persistentVolumeClaim", "downwardAPI", "projected", "hostPath")
PROJECTED = ("configMap", "secret", "downwardAPI")
KERNEL_PATHS = ("/proc", "/sys", "/dev")
"""What the kernel shows there, every program relies on."""
MOUNTABLE_KERNEL_PATHS = ("/dev/shm", "/dev/termination-log")  # noqa: S108 - a path of containers
SYSTEM_PATHS = ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/run", "/sbin", "/usr")
"""Programs of this machine and what they trust. Paths below that this machine does not have are free."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Who the agent is."""

    user: int
    group: int
    real_path: Callable[[str], str] = os.path.realpath
    exists: Callable[[str], bool] = os.path.exists

    @property
    def is_root(self) -> bool:
        return self.user == 0


def refused_fields(pod: Obj, host: Host) -> list[str]:
    """Sentences that begin with the field's path; empty for a pod that can run."""
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
        yield "spec.hostUsers: false needs a user namespace of its own"
    if spec.get("runtimeClassName"):
        yield "spec.runtimeClassName: there is one way to run here, as a local process"
    security = spec.get("securityContext") or {}
    yield from _identity("spec.securityContext", security, host)
    if security.get("sysctls"):
        yield "spec.securityContext.sysctls: a process shares the machine's settings"


def _identity(field: str, security: Obj, host: Host) -> Iterator[str]:
    """Without root a process has the agent's own rights, which are never more than another plain user's."""
    if host.is_root:
        return
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        if security.get(name) == 0:
            yield f"{field}.{name}: 0 needs an agent that is root"
    if set(security.get("supplementalGroups") or ()) - {host.group}:
        yield f"{field}.supplementalGroups: the agent is not root"


def _container(field: str, container: Obj, host: Host) -> Iterator[str]:
    if not container.get("command"):
        yield (
            f"{field}.command: required in process mode: the image {container.get('image', '')!r} and its entrypoint "
            "are ignored"
        )
    policy = container.get("restartPolicy")
    if policy is not None and not (policy == "Always" and "initContainers" in field):
        yield f"{field}.restartPolicy: {policy} for one container is not supported in process mode"
    for name in _PROBES:
        if container.get(name):
            yield f"{field}.{name}: probes are not supported in process mode"
    for name in container.get("lifecycle") or ():
        if name in ("postStart", "preStop"):
            yield f"{field}.lifecycle.{name}: hooks are not supported in process mode"
    yield from _rights(field, container, host)
    yield from _devices(field, container, host)


def _rights(field: str, container: Obj, host: Host) -> Iterator[str]:
    security = container.get("securityContext") or {}
    yield from _identity(f"{field}.securityContext", security, host)
    if security.get("privileged"):
        yield f"{field}.securityContext.privileged: a process has the rights of the agent's user"
    if (security.get("capabilities") or {}).get("add"):
        yield f"{field}.securityContext.capabilities.add: a process has the rights of the agent's user"


def _mount_paths(field: str, container: Obj, host: Host) -> Iterator[str]:
    """A container shares this machine's root: a volume over a part of its system would fool the machine's programs."""
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        path = PurePosixPath(host.real_path(mount["mountPath"]))
        if path == PurePosixPath("/"):
            yield f"{field}.volumeMounts[{n}].mountPath: / is this machine's root in process mode: mount elsewhere"
        elif _is_below(path, KERNEL_PATHS) and not _is_below(path, MOUNTABLE_KERNEL_PATHS):
            yield (
                f"{field}.volumeMounts[{n}].mountPath: {mount['mountPath']} belongs to the kernel in process mode: "
                f"mount elsewhere"
            )
        elif _is_below(path, SYSTEM_PATHS) and host.exists(str(path)):
            yield (
                f"{field}.volumeMounts[{n}].mountPath: {mount['mountPath']} is part of this machine's system, and a "
                "container shares it in process mode: choose a path that does not exist here"
            )


def _is_below(path: PurePosixPath, directories: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(each) for each in directories)


def _devices(field: str, container: Obj, host: Host) -> Iterator[str]:
    if container.get("volumeDevices"):
        yield f"{field}.volumeDevices: block devices are not supported in process mode"
    if container.get("tty"):
        yield f"{field}.tty: there is no terminal in process mode"
    for n, port in enumerate(container.get("ports") or ()):
        if port.get("hostPort") not in (None, 0, port.get("containerPort")):
            yield f"{field}.ports[{n}].hostPort: a process listens on its own port, {port.get('containerPort')}"
    yield from _mount_paths(field, container, host)
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("mountPropagation") not in (None, "None"):
            yield f"{field}.volumeMounts[{n}].mountPropagation: mounts are private in process mode"
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
    """The volume that admission adds to every pod, for the token of its service account (`api_access.py`)."""
    if not volume.startswith("kube-api-access-"):
        return False
    return all(
        mount.get("mountPath") == TOKEN_PATH
        for group in ("initContainers", "containers")
        for container in spec.get(group) or ()
        for mount in container.get("volumeMounts") or ()
        if mount["name"] == volume
    )
