"""Which kind a word means, and where an API serves it: ours by their table, all others by asking the API."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from jangar.api.kinds import KINDS, by_api_version_and_kind, by_name
from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.controllers.resources import resource_of
from jangar.domain.orchestration.message_text import Guesses
from kubekit.client.resource import Resource

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

OK = 200
TIMEOUT = 30.0


async def resource_named(session: "Session", word: str) -> Resource:
    """The kind that a person means: a name, plural or short name, with or without its group."""
    kind = by_name(word)
    if kind is not None:
        return resource_of(kind)
    wanted = word.lower()
    async for resource, entry in _served(session):
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
    raise Failure(f"unknown kind {word}{hint}", ExitCode.NOT_FOUND)


async def resource_of_object(session: "Session", obj: Mapping[str, Any]) -> Resource:
    """Where an object of a manifest belongs."""
    version, name = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    kind = by_api_version_and_kind(version, name)
    if kind is not None:
        return resource_of(kind)
    group, _, number = version.rpartition("/")
    for entry in await _entries(session, group, number):
        if entry["kind"] == name and "/" not in entry["name"]:
            return _resource(group, number, entry)
    raise Failure(
        f"the API does not serve {name or 'an object without kind'} of {version or 'no apiVersion'}: "
        "check apiVersion and kind, or install its CRD first",
        ExitCode.NOT_FOUND,
    )


async def _served(session: "Session") -> AsyncIterator[tuple[Resource, Mapping[str, Any]]]:
    """Everything, the core group first, each group in its preferred version."""
    groups = (await _json(session, "/apis")).get("groups") or ()
    places = [("", "v1"), *((item["name"], item["preferredVersion"]["version"]) for item in groups)]
    for group, version in places:
        for entry in await _entries(session, group, version):
            if "/" not in entry["name"]:
                yield _resource(group, version, entry), entry


async def _entries(session: "Session", group: str, version: str) -> list[dict[str, Any]]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return (await _json(session, path)).get("resources") or []


async def _json(session: "Session", path: str) -> dict[str, Any]:
    answer = await session.transport.request("GET", path, timeout=TIMEOUT)
    found = orjson.loads(answer.body) if answer.status == OK else {}
    return found if isinstance(found, dict) else {}


def _resource(group: str, version: str, entry: Mapping[str, Any]) -> Resource:
    return Resource(group, version, entry["name"], entry["kind"], namespaced=bool(entry["namespaced"]))
