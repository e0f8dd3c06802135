"""Objects between the version they are written in, the one they are stored in, and a schema that has changed since."""

import asyncio

import orjson

from picokube.apiserver.kinds.stored_forms import in_version, upgraded, upgraded_snapshot
from picokube.apiserver.lifecycle.collector import Collector
from picokube.apiserver.storage.store import Key
from unit.picokube.apiserver.small_server import CRDS, GROUP, a_definition, a_part, a_version, in_a_server

TEXT = {"type": "string"}
TWO_VERSIONS = [
    a_version("v1", a=TEXT, size=TEXT, filled={**TEXT, "default": "one"}),
    a_version("v2", storage=False, a=TEXT, shade={**TEXT, "default": "dark"}),
]


def shown(server, version="v1", name="a"):
    kind = server.kind(version=version)
    stored = server.serving.store.get(Key(f"parts.{GROUP}", "", name))
    return orjson.loads(in_version(kind, upgraded(kind, stored).data))


def with_fields(**fields):
    def change(old):
        old["spec"]["versions"] = [a_version(**fields)]

    return change


@in_a_server
async def test_an_object_older_than_its_schema_is_read_by_the_new_one(server):
    """Unknown fields are gone, defaults are there; nothing is written."""
    await server.define(a_definition(versions=[a_version(a=TEXT, old=TEXT)]))
    made = await server.make(a_part(a="1", old="2"))
    await server.change(CRDS, f"parts.{GROUP}", with_fields(a=TEXT, new={**TEXT, "default": "3"}))
    found = shown(server)
    assert found["spec"] == {"a": "1", "new": "3"}
    assert found["metadata"] == made["metadata"]
    snapshot = upgraded_snapshot(server.kind(), server.serving.store.list(f"parts.{GROUP}"))
    assert [orjson.loads(item.data) for item in snapshot.objects] == [found]


@in_a_server
async def test_filling_in_defaults_alone_is_no_new_generation(server):
    await server.define(a_definition())
    await server.make(a_part(a="1"))
    await server.change(CRDS, f"parts.{GROUP}", with_fields(a=TEXT, new={**TEXT, "default": "3"}))
    changed = await server.change(server.kind(), "a", lambda old: old["metadata"].update(labels={"x": "y"}))
    assert changed["metadata"]["generation"] == 1
    assert server.stored(server.kind(), "a")["spec"] == {"a": "1", "new": "3"}


@in_a_server
async def test_an_object_that_needs_nothing_is_shown_as_its_stored_bytes(server):
    await server.define(a_definition())
    await server.make(a_part(a="1"))
    kind, stored = server.kind(), server.serving.store.get(Key(f"parts.{GROUP}", "", "a"))
    assert upgraded(kind, stored) is stored
    await server.change(CRDS, f"parts.{GROUP}", with_fields(a=TEXT, b=TEXT))
    assert server.kind().schema_since > stored.revision
    assert upgraded(server.kind(), stored) is stored


@in_a_server
async def test_what_the_stored_version_does_not_know_is_lost(server):
    """And the answer of the write shows it already."""
    await server.define(a_definition(versions=TWO_VERSIONS))
    made = await server.make(a_part(version="v2", a="1", shade="light"), version="v2")
    assert (made["apiVersion"], made["spec"]) == (f"{GROUP}/v2", {"a": "1"})
    stored = server.stored(server.kind(), "a")
    assert (stored["apiVersion"], stored["spec"]) == (f"{GROUP}/v1", {"a": "1", "filled": "one"})
    assert shown(server, "v2")["spec"] == {"a": "1"}
    assert shown(server, "v1")["spec"] == {"a": "1", "filled": "one"}


@in_a_server
async def test_an_object_keeps_the_defaults_of_the_version_it_was_stored_in(server):
    """Another version that is stored from now on does not fill in its own until it is written."""
    await server.define(a_definition(versions=[a_version("v1", a=TEXT)]))
    await server.make(a_part(a="1"))

    def moved(old):
        old["spec"]["versions"] = [
            a_version("v1", storage=False, a=TEXT),
            a_version("v2", a=TEXT, new={**TEXT, "default": "2"}),
        ]

    await server.change(CRDS, f"parts.{GROUP}", moved)
    assert server.definition()["status"]["storedVersions"] == ["v1", "v2"]
    assert shown(server, "v2")["spec"] == {"a": "1"}
    changed = await server.change(server.kind(), "a", lambda old: old["spec"].update(a="2"))
    assert changed["spec"] == {"a": "2"}
    assert shown(server, "v2")["spec"] == {"a": "2", "new": "2"}


@in_a_server
async def test_managers_are_forgotten_when_a_change_cannot_be_shown_in_their_version(server):
    await server.define(a_definition(versions=TWO_VERSIONS))
    await server.make(a_part(version="v2", a="1"), version="v2")
    changed = await server.change(server.kind(), "a", lambda old: old["spec"].update(size="4"))
    assert "managedFields" not in changed["metadata"]


@in_a_server
async def test_an_object_stored_in_a_version_that_is_not_served_goes_with_its_owner(server):
    """It is found under the name it is stored by."""
    stored_only = a_version("v1", served=False, a=TEXT)
    await server.define(a_definition(versions=[stored_only, a_version("v2", storage=False, a=TEXT)]))
    owner = await server.make(a_part("owner", version="v2"), version="v2")
    owned = a_part("owned", version="v2")
    reference = {
        "apiVersion": f"{GROUP}/v2",
        "kind": "Part",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    owned["metadata"]["ownerReferences"] = [reference]
    await server.make(owned, version="v2")
    collecting = asyncio.create_task(Collector(server.serving).run())
    kind = server.kind(version="v2")
    await server.delete(kind, "owner")
    await server.until(lambda: server.stored(kind, "owned") is None)
    collecting.cancel()
    await asyncio.gather(collecting, return_exceptions=True)
