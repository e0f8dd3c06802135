"""From a container of a pod to the order that starts it. Makes directories; decides nothing about when."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picokube.nodeagent.pods.container_view import TMP, ContainerView, ViewRequest, container_view
from picokube.nodeagent.pods.environment import ConfigProblem, Find, environment
from picokube.nodeagent.pods.expansion import expanded
from picokube.nodeagent.pods.own_programs import OwnProgram
from picokube.nodeagent.pods.path_mapping import PathMapping
from picokube.nodeagent.pods.spec_checks import Host, is_token
from picokube.nodeagent.pods.volume_files import Places, make_volumes, mounts_of
from picokube.nodeagent.supervisor.cri_log import log_path
from picokube.nodeagent.supervisor.orders import RunKey, StartContainer

Obj = Mapping[str, Any]

DEFAULT_TERMINATION_PATH = "/dev/termination-log"
_PRIVATE, _SHARED_TMP = 0o700, 0o1777
_REFERENCES = {
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What every order needs: where things are, who we are, whether volumes can be mounted."""

    places: Places
    host: Host
    namespaces: bool
    inherited: Mapping[str, str]
    programs: tuple[OwnProgram, ...] = ()
    """Programs of this machine that containers of every user may start."""


def container_start_request(pod: Obj, key: RunKey, shop: ContainerContext, find: Find) -> StartContainer:
    """Everything a container needs is there when this returns. Raises ConfigProblem and OSError."""
    container = container_named(pod, key.container)
    user, group, groups = _identity(pod, container, shop.host)
    volumes = make_volumes(pod, shop.places, find, group=_fs_group(pod, shop.host))
    has_token = any(is_token(pod["spec"], each["name"]) for each in pod["spec"].get("volumes") or ())
    home = {} if has_token else {"HOME": TMP}
    env = environment(pod, container, {**shop.inherited, **home}, find)
    mounts = mounts_of(container, volumes, env)
    files = _private_files(pod, key, shop, user)
    termination_path = container.get("terminationMessagePath") or DEFAULT_TERMINATION_PATH
    argv = [expanded(each, env) for each in (*container["command"], *(container.get("args") or ()))]
    if shop.namespaces:
        request = ViewRequest(
            data=shop.places.data,
            volumes=mounts,
            tmp=files.tmp,
            work=files.work,
            termination=files.termination,
            termination_path=termination_path,
            user=user,
            has_token=has_token,
            argv=argv,
            env=env,
            working_dir=container.get("workingDir") or "",
            programs=shop.programs,
        )
        view = container_view(request)
        mapping = PathMapping({termination_path: view.termination})
    else:
        view = ContainerView(mounts=(), hidden=(), work=str(files.work), termination=str(files.termination))
        mapping = PathMapping(
            {**{each.target: each.source for each in mounts}, termination_path: view.termination}
        )
        env = env | {"TMPDIR": str(files.tmp)} | ({"HOME": str(files.tmp)} if env.get("HOME") == TMP else {})
    return StartContainer(
        key=key,
        argv=mapping.texts(argv),
        env=mapping.values(env),
        cwd=mapping.text(container["workingDir"]) if container.get("workingDir") else view.work,
        log=str(log_path(shop.places.logs, key.pod, key.container)),
        mounts=view.mounts,
        hidden=view.hidden,
        user=user,
        group=group,
        groups=groups,
    )


def order_size(pod: Obj, key: RunKey) -> int:
    """The characters that an order is made from."""
    container = container_named(pod, key.container)
    texts = (*container["command"], *(container.get("args") or ()))
    values = (variable.get("value") or "" for variable in container.get("env") or ())
    return sum(map(len, (*texts, *values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PrivateFiles:
    tmp: Path
    work: Path
    termination: Path


def _private_files(pod: Obj, key: RunKey, shop: ContainerContext, user: int | None) -> _PrivateFiles:
    """What a container has for itself, made where it is missing, and its own."""
    places = shop.places
    files = _PrivateFiles(
        tmp=places.tmp(key.pod),
        work=places.work(key.pod, key.container),
        termination=places.termination(key.pod, key.container, key.restart),
    )
    for directory in (files.tmp, files.work):
        if not directory.is_dir():
            directory.mkdir(parents=True, mode=_PRIVATE)
            if user is not None:
                os.chown(directory, user, -1)
    if len({_identity(pod, each, shop.host)[0] for each in all_containers(pod)}) > 1:
        files.tmp.chmod(_SHARED_TMP)
    made = os.open(files.termination, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if user is not None:
            os.fchown(made, user, -1)
    finally:
        os.close(made)
    return files


def _fs_group(pod: Obj, host: Host) -> int | None:
    """The group that may write volumes; only root can give files to another."""
    group: int | None = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return group if host.is_root else None


def all_containers(pod: Obj) -> list[Obj]:
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


def container_named(pod: Obj, name: str) -> Obj:
    return next(each for each in all_containers(pod) if each["name"] == name)


def references(pod: Obj) -> set[tuple[str, str]]:
    """The objects that its containers and volumes speak of, by kind and name."""
    spec, containers = pod["spec"], all_containers(pod)
    volumes = [each for each in spec.get("volumes") or () if not is_token(spec, each["name"])]
    return {
        *(found for container in containers for found in _of_container(container)),
        *(found for volume in volumes for found in _of_volume(volume)),
    }


def _of_container(container: Obj) -> Iterator[tuple[str, str]]:
    sources = [each.get("valueFrom") or {} for each in container.get("env") or ()]
    for source in [*sources, *(container.get("envFrom") or ())]:
        for field, kind in _REFERENCES.items():
            if source.get(field) is not None:
                yield kind, source[field]["name"]


def _of_volume(volume: Obj) -> Iterator[tuple[str, str]]:
    if (claim := volume.get("persistentVolumeClaim")) is not None:
        yield "PersistentVolumeClaim", claim["claimName"]
    for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
        if (ref := source.get("configMap")) is not None:
            yield "ConfigMap", ref.get("name", "")
        if (ref := source.get("secret")) is not None:
            yield "Secret", ref.get("secretName") or ref.get("name", "")


def _identity(pod: Obj, container: Obj, host: Host) -> tuple[int | None, int | None, tuple[int, ...]]:
    security = (pod["spec"].get("securityContext") or {}) | (container.get("securityContext") or {})
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    runs_as = host.user if user is None else user
    if security.get("runAsNonRoot") and runs_as == 0:
        raise ConfigProblem("container has runAsNonRoot and the agent's own user is root: set runAsUser")
    groups = {*(security.get("supplementalGroups") or ())}
    if security.get("fsGroup") is not None:
        groups.add(security["fsGroup"])
    if not host.is_root:
        return None, None, ()
    user = None if user == host.user else user
    return user, group, tuple(sorted(groups))
