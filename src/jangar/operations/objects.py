"""Objects of any kind: resolve a kind, get, list, apply and delete objects, list events, and release finalizers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import orjson

from jangar.api.kinds import KINDS, by_api_version_and_kind, by_name
from jangar.controllers.resources import resource_of
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER, OUTCOME_FINALIZER, our_finalizer_patch
from jangar.domain.orchestration.message_text import Guesses
from jangar.kinds.registry import RUN_KINDS
from jangar.operations.caller import Caller
from jangar.operations.refusals import ErrorKind, Refused
from kubekit.client.api_client import Obj, PatchKind
from kubekit.client.builtin import EVENTS, JOBS, PODS
from kubekit.client.errors import Conflict, Invalid, NotFound
from kubekit.client.resource import Resource

DISCOVERY_TIMEOUT: Final = 30.0
MAX_RELEASE_TRIES: Final = 5
ALIASES: Final = {"run": "orchestrationruns", "runs": "orchestrationruns"}
"""Names of kinds in addition to those that the API knows."""
FINALIZERS: Final = frozenset({CLEANUP_FINALIZER, OUTCOME_FINALIZER})


class Applied(NamedTuple):
    """An object after apply, and whether it was `created`, `configured` or `unchanged`."""

    obj: Obj
    result: str

    @property
    def is_changed(self) -> bool:
        return self.result != "unchanged"


class Released(NamedTuple):
    """An object with Jangar's finalizers, and whether they were removed."""

    resource: Resource
    obj: Obj
    is_released: bool


async def get_objects(
    caller: Caller,
    resource: Resource,
    namespace: str | None,
    names: Sequence[str] = (),
    *,
    labels: str = "",
    fields: str = "",
) -> list[Obj]:
    """The named objects, or all that match the selectors. Raises NotFound for a missing name."""
    if names:
        return [await caller.client.get(resource, name, namespace) for name in names]
    return await caller.client.list(resource, namespace, labels=labels, fields=fields)


async def create_object(
    caller: Caller, resource: Resource, namespace: str, name: str, spec: Mapping[str, Any]
) -> Obj:
    """Create an object from its spec. Raises AlreadyExists."""
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    return await caller.client.create(resource, {**obj, "metadata": {"name": name, "namespace": namespace}})


async def list_events(caller: Caller, obj: Mapping[str, Any]) -> list[Obj]:
    """The Kubernetes Events about an object, with the caller's permissions."""
    meta = obj["metadata"]
    return await caller.client.list(EVENTS, meta["namespace"], fields=f"involvedObject.uid={meta['uid']}")


async def apply_object(caller: Caller, manifest: Mapping[str, Any], *, force: bool) -> Applied:
    """Apply one manifest server-side. Raises Refused if another manager owns a field, unless `force` takes it over."""
    resource = await resource_of_object(caller, manifest)
    meta = dict(manifest.get("metadata") or {})
    if resource.namespaced:
        meta.setdefault("namespace", caller.namespace)
    obj = {**manifest, "metadata": meta}
    if not meta.get("name"):
        return Applied(await caller.client.create(resource, obj), "created")
    try:
        before = (await caller.client.get(resource, meta["name"], meta.get("namespace")))["metadata"]
    except NotFound:
        before = None
    try:
        after = await caller.client.apply(resource, obj, force=force)
    except Conflict as error:
        message = f"{error}\njangar apply --force-conflicts takes over these fields"
        raise Refused(message, ErrorKind.CONFLICT) from error
    if before is None:
        return Applied(after, "created")
    is_same = before["resourceVersion"] == after["metadata"]["resourceVersion"]
    return Applied(after, "unchanged" if is_same else "configured")


async def delete_object(caller: Caller, resource: Resource, obj: Mapping[str, Any]) -> None:
    """Delete this very object. A live run is cancelled first and deleted once its work has stopped."""
    meta = obj["metadata"]
    await caller.client.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])


async def find_manifest_objects(
    caller: Caller, manifests: Sequence[Mapping[str, Any]]
) -> AsyncIterator[tuple[Mapping[str, Any], Resource, Obj | None]]:
    """Each manifest, last one first, with its resource and its object, or None if there is none."""
    for manifest in reversed(manifests):
        resource = await resource_of_object(caller, manifest)
        meta = manifest["metadata"]
        namespace = meta.get("namespace") or caller.namespace if resource.namespaced else None
        try:
            yield (
                manifest,
                resource,
                await caller.client.get(resource, meta.get("name") or "-", namespace),
            )
        except NotFound:
            yield manifest, resource, None


async def release_finalizers(
    caller: Caller, namespace: str | None, *, dry_run: bool
) -> AsyncIterator[Released]:
    """Remove Jangar's finalizers from runs, their children, Jobs and pods (GC-7). Runs come first.

    Runs decide about their children; afterwards no controller adds a finalizer again.
    """
    for resource in (*(resource_of(run.kind) for run in RUN_KINDS.values()), JOBS, PODS):
        try:
            objects = await caller.client.list(resource, namespace)
        except NotFound:
            # The CRD is not installed any more.
            continue
        for obj in objects:
            if _finalizer_patch(obj):
                yield Released(resource, obj, dry_run or await _release(caller, resource, obj))


def _finalizer_patch(obj: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    return our_finalizer_patch(obj["metadata"].get("finalizers") or (), FINALIZERS)


async def _release(caller: Caller, resource: Resource, obj: Mapping[str, Any]) -> bool:
    """Whether Jangar's finalizers were removed. An object that changed in the meantime is read again."""
    uid, name, namespace = (obj["metadata"].get(item) for item in ("uid", "name", "namespace"))
    for _ in range(MAX_RELEASE_TRIES):
        patch = _finalizer_patch(obj)
        if not patch or obj["metadata"]["uid"] != uid:
            return True
        body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *patch]
        try:
            await caller.client.patch(resource, name, namespace, body, kind=PatchKind.JSON)
        except NotFound:
            return True
        except (Conflict, Invalid):
            try:
                obj = await caller.client.get(resource, name, namespace)
            except NotFound:
                return True
        else:
            return True
    return False


async def resource_named(caller: Caller, word: str) -> Resource:
    """The kind with this name, plural or short name, with or without its group. Raises Refused."""
    kind = by_name(ALIASES.get(word, word))
    if kind is not None:
        return resource_of(kind)
    wanted = word.lower()
    async for resource, entry in _served_resources(caller):
        names = {entry["name"], entry.get("singularName", ""), resource.kind.lower()}
        names |= set(entry.get("shortNames") or ())
        if wanted in names or wanted in {f"{name}.{resource.group}" for name in names}:
            return resource
    near = Guesses([item.plural for item in KINDS]).nearest(wanted)
    hint = (
        f"; did you mean {near}?"
        if near
        else f"; jangar's kinds are {', '.join(item.plural for item in KINDS)}"
    )
    raise Refused(f"unknown kind {word}{hint}", ErrorKind.MISSING)


async def resource_of_object(caller: Caller, obj: Mapping[str, Any]) -> Resource:
    """The resource of a manifest. Raises Refused if the API does not serve it."""
    version, name = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    kind = by_api_version_and_kind(version, name)
    if kind is not None:
        return resource_of(kind)
    group, _, number = version.rpartition("/")
    for entry in await _entries(caller, group, number):
        if entry["kind"] == name and "/" not in entry["name"]:
            return _resource(group, number, entry)
    raise Refused(
        f"the API does not serve {name or 'an object without kind'} of {version or 'no apiVersion'}: "
        "check apiVersion and kind, or install its CRD first",
        ErrorKind.MISSING,
    )


async def _served_resources(caller: Caller) -> AsyncIterator[tuple[Resource, Mapping[str, Any]]]:
    """All resources, the core group first, each group in its preferred version."""
    groups = (await _get_json(caller, "/apis")).get("groups") or ()
    versions = [("", "v1"), *((group["name"], group["preferredVersion"]["version"]) for group in groups)]
    for group, version in versions:
        for entry in await _entries(caller, group, version):
            if "/" not in entry["name"]:
                yield _resource(group, version, entry), entry


async def _entries(caller: Caller, group: str, version: str) -> list[dict[str, Any]]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return (await _get_json(caller, path)).get("resources") or []


async def _get_json(caller: Caller, path: str) -> dict[str, Any]:
    response = await caller.transport.request("GET", path, timeout=DISCOVERY_TIMEOUT)
    document = orjson.loads(response.body) if response.status == HTTPStatus.OK else {}
    return document if isinstance(document, dict) else {}


def _resource(group: str, version: str, entry: Mapping[str, Any]) -> Resource:
    return Resource(group, version, entry["name"], entry["kind"], namespaced=bool(entry["namespaced"]))
