"""From a container of a pod to the order that starts it. Makes directories; decides nothing about when."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jangar.nodeagent.pods.environment import ConfigProblem, Find, environment
from jangar.nodeagent.pods.expansion import expanded
from jangar.nodeagent.pods.own_programs import OwnProgram, Way, way_to
from jangar.nodeagent.pods.path_mapping import PathMapping
from jangar.nodeagent.pods.spec_checks import Host, is_token
from jangar.nodeagent.pods.volume_files import Places, make_volumes, mounts_of
from jangar.nodeagent.supervisor.cri_log import log_path
from jangar.nodeagent.supervisor.orders import Mount, Order, RunKey

Obj = Mapping[str, Any]

DEFAULT_TERMINATION_PATH = "/dev/termination-log"
_REFERENCES = {
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every order needs: where things are, who we are, whether volumes can be mounted."""

    places: Places
    host: Host
    namespaces: bool
    inherited: Mapping[str, str]
    programs: tuple[OwnProgram, ...] = ()
    """Programs of this machine that containers of every user may start."""


def order_for(pod: Obj, key: RunKey, shop: Workshop, find: Find) -> Order:
    """Everything a container needs is there when this returns. Raises ConfigProblem."""
    container = container_named(pod, key.container)
    volumes = make_volumes(pod, shop.places, find)
    env = environment(pod, container, shop.inherited, find)
    user, group, groups = _identity(pod, container, shop.host)
    mounts = mounts_of(container, volumes, env)
    said = str(shop.places.termination(key.pod, key.container, key.restart))
    termination_path = container.get("terminationMessagePath") or DEFAULT_TERMINATION_PATH
    mapping = PathMapping({termination_path: said})
    # Another user cannot reach into the data directory: from there the file must be brought to its path.
    brought = shop.namespaces and (bool(mounts) or (user is not None and shop.places.words is None))
    if not shop.namespaces:
        mapping = PathMapping({**{each.target: each.source for each in mounts}, termination_path: said})
        mounts = []
    elif brought and user is not None:
        mapping = PathMapping({})
    argv = [*container["command"], *(container.get("args") or ())]
    work = shop.places.work(key.pod, key.container)
    try:
        work.mkdir()
    except FileNotFoundError:
        work.mkdir(parents=True)
    except FileExistsError:
        pass
    if user is not None:
        os.chown(work, user, -1)
    if brought or user is not None:
        _make(said, user)
    if brought:
        mounts.append(Mount(source=said, target=termination_path))
    words = mapping.texts([expanded(each, env) for each in argv])
    cwd = mapping.text(container["workingDir"]) if container.get("workingDir") else str(work)
    way = way_to(shop.programs, words, env) if shop.namespaces and user is not None else Way()
    return Order(
        key=key,
        argv=words,
        env=mapping.values(env),
        cwd=cwd,
        log=str(log_path(shop.places.logs, key.pod, key.container)),
        mounts=(*mounts, *way.mounts_with(cwd)),
        hidden=way.hidden,
        user=user,
        group=group,
        groups=groups,
    )


def _make(path: str, user: int | None) -> None:
    """What is to be mounted must exist, and a user makes nothing in a directory of root's."""
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if user is not None:
        os.fchown(made, user, -1)
    os.close(made)


def container_named(pod: Obj, name: str) -> Obj:
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    found: Obj = next(each for each in containers if each["name"] == name)
    return found


def references(pod: Obj) -> set[tuple[str, str]]:
    """The objects that its containers and volumes speak of, by kind and name."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
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
