"""Definitions of custom kinds: given their names, served at once, emptied before they go, and none of it lost."""

import asyncio

import pytest

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.object_store import create
from picokube.apiserver.protocol import errors
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.crds.custom import resource_types_of
from unit.picokube.apiserver.small_server import (
    CRDS,
    GROUP,
    OPTIONS,
    a_definition,
    a_part,
    a_server,
    in_a_server,
)

ACCEPTED = {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}


@in_a_server
async def test_a_definition_is_served_and_established_when_its_write_is_answered(server):
    """The answer shows what was created; what follows is a separate write."""
    made = await server.define(a_definition())
    assert "conditions" not in made["status"] or made["status"]["conditions"] is None
    assert server.kind() is not None
    assert server.conditions() == ACCEPTED
    assert server.definition()["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    managers = [
        managed_field["manager"] for managed_field in server.definition()["metadata"]["managedFields"]
    ]
    assert sorted(managers) == ["kube-apiserver", "test"]


@in_a_server
async def test_a_kind_is_served_before_its_status_says_established(server):
    await create(server.serving, CRDS, None, a_definition(), OPTIONS)
    assert server.kind() is not None


@in_a_server
async def test_names_are_given_once_and_again_when_they_are_free(server):
    """A second kind of the same name waits for the first to go."""
    await server.define(a_definition())
    await server.define(a_definition("things"))
    assert server.kind("things") is None
    assert server.conditions("things") == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    await server.delete(CRDS, f"parts.{GROUP}")
    await server.until(lambda: server.definition() is None)
    await server.until(lambda: server.conditions("things") == ACCEPTED)
    assert server.kind("things").kind == "Part"


@in_a_server
async def test_a_status_write_does_not_rebuild_the_kind(server):
    """What is derived from kinds, such as OpenAPI, is kept; watches continue."""
    await create(server.serving, CRDS, None, a_definition(), OPTIONS)
    kind, generation = server.kind(), server.serving.registry.generation
    await server.life.settle()
    assert server.conditions() == ACCEPTED
    assert server.kind() is kind
    assert server.serving.registry.generation == generation


@in_a_server
async def test_short_names_that_are_taken_leave_a_kind_served_as_it_was(server):
    await server.define(a_definition(shortNames=["pp"]))
    await server.define(a_definition("things", "Thing", shortNames=["tt"]))
    await server.change(
        CRDS, f"things.{GROUP}", lambda old: old["spec"]["names"].update(shortNames=["tt", "pp"])
    )
    assert server.conditions("things") == {**ACCEPTED, "NamesAccepted": ("False", "ShortNamesConflict")}
    assert server.kind("things").short_names == ("tt",)


@in_a_server
async def test_a_deleted_definition_takes_its_objects_along(server):
    await server.define(a_definition())
    for n in range(100):
        await server.make(a_part(f"part-{n}"))
    done = await server.delete(CRDS, f"parts.{GROUP}")
    assert not done.gone
    assert done.object["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await server.until(lambda: server.definition() is None)
    assert server.serving.store.list(f"parts.{GROUP}").objects == []
    assert server.kind() is None


@in_a_server
async def test_nothing_is_created_of_a_kind_that_is_going(server):
    """Objects that others hold keep the definition, and can still be changed."""
    await server.define(a_definition())
    await server.make(a_part(finalizers=["example.com/hold"]))
    await server.delete(CRDS, f"parts.{GROUP}")
    await server.until(lambda: server.conditions()["Terminating"] == ("True", "InstanceDeletionInProgress"))
    await server.until(lambda: "deletionTimestamp" in server.stored(server.kind(), "a")["metadata"])
    with pytest.raises(errors.ApiError, match="create not allowed while custom resource definition"):
        await server.make(a_part("b"))
    await server.change(server.kind(), "a", lambda old: old["metadata"].pop("finalizers"))
    await server.until(lambda: server.definition() is None)


@in_a_server
async def test_what_was_about_to_be_created_is_not_left_behind(server):
    """A create that is decided before a deletion is known is either refused or deleted with the others."""
    await server.define(a_definition())
    kind = server.kind()
    results = await asyncio.gather(
        server.delete(CRDS, f"parts.{GROUP}"),
        *(create(server.serving, kind, None, a_part(f"part-{n}"), OPTIONS) for n in range(50)),
        return_exceptions=True,
    )
    assert not isinstance(results[0], Exception)
    await server.until(lambda: server.definition() is None)
    assert server.serving.store.list(f"parts.{GROUP}").objects == []
    with pytest.raises(errors.ApiError):
        await create(server.serving, kind, None, a_part("late"), OPTIONS)


@in_a_server
async def test_a_foreign_finalizer_keeps_an_emptied_definition(server):
    definition = a_definition()
    definition["metadata"]["finalizers"] = ["example.com/hold"]
    await server.define(definition)
    await server.delete(CRDS, f"parts.{GROUP}")
    await server.until(lambda: server.conditions()["Terminating"] == ("False", "InstanceDeletionCompleted"))
    assert server.definition()["metadata"]["finalizers"] == ["example.com/hold"]
    await server.change(CRDS, f"parts.{GROUP}", lambda old: old["metadata"].pop("finalizers"))
    assert server.definition() is None


def test_a_definition_that_no_one_could_establish_is_established_after_a_start(tmp_path):
    """The process ended between the two writes."""

    async def history():
        async with a_server(tmp_path / "objects.db", with_controller=False) as server:
            await create(server.serving, CRDS, None, a_definition(), OPTIONS)
            await create(server.serving, CRDS, None, a_definition("a-later-one"), OPTIONS)
        async with a_server(tmp_path / "objects.db") as server:
            assert server.kind() is not None
            await server.until(lambda: server.conditions() == ACCEPTED)
            await server.until(lambda: server.conditions("a-later-one") != {})
            assert server.conditions("a-later-one")["NamesAccepted"] == ("False", "ListKindConflict")

    asyncio.run(history())


@pytest.mark.parametrize("deleted", [0, 3, 10])
def test_emptying_goes_on_after_a_start(tmp_path, deleted):
    """However far it came."""

    async def history():
        async with a_server(tmp_path / "objects.db", with_controller=False) as server:
            await server.define(a_definition())
            for n in range(10):
                await server.make(a_part(f"part-{n}"))
            kind = server.kind()
            await server.delete(CRDS, f"parts.{GROUP}")
            for n in range(deleted):
                await server.delete(kind, f"part-{n}")
        async with a_server(tmp_path / "objects.db") as server:
            await server.until(lambda: server.definition() is None)
            assert server.serving.store.list(f"parts.{GROUP}").objects == []
            await server.until(lambda: server.kind() is None)

    asyncio.run(history())


@in_a_server
async def test_a_kind_of_no_served_version_is_emptied_too(server):
    await server.define(a_definition())
    await server.make(a_part())
    await server.change(CRDS, f"parts.{GROUP}", lambda old: old["spec"]["versions"][0].update(served=False))
    assert server.kind() is None
    await server.delete(CRDS, f"parts.{GROUP}")
    await server.until(lambda: server.definition() is None)
    assert server.serving.store.list(f"parts.{GROUP}").objects == []


@in_a_server
async def test_a_definition_of_a_built_in_resource_serves_and_deletes_nothing(server):
    """Such a name would otherwise reach the objects of the server itself."""
    [own] = resource_types_of(a_definition() | {"status": {}})
    registry = server.serving.registry
    registry._types[GROUP, "v1", "parts"] = own
    registry._built_in = frozenset({*registry._built_in, f"parts.{GROUP}"})
    await create(server.serving, own, None, a_part(), OPTIONS)
    await server.define(a_definition())
    assert server.kind() is own
    await server.delete(CRDS, f"parts.{GROUP}")
    await server.until(lambda: server.definition() is None)
    assert server.kind() is own
    assert server.serving.store.get(Key(f"parts.{GROUP}", "", "a")) is not None


@in_a_server
async def test_names_and_scope_are_free_until_a_definition_is_established(server):
    await server.define(a_definition())
    await server.define(a_definition("things", singular="thing"))

    def renamed(old):
        old["spec"]["scope"] = "Namespaced"
        old["spec"]["names"] |= {"kind": "Thing", "listKind": "ThingList"}

    await server.change(CRDS, f"things.{GROUP}", renamed)
    assert server.conditions("things") == ACCEPTED
    kind: ResourceType = server.kind("things")
    assert (kind.kind, kind.namespaced) == ("Thing", True)
    with pytest.raises(errors.ApiError, match="field is immutable"):
        await server.change(
            CRDS, f"things.{GROUP}", lambda old: old["spec"]["names"].update(kind="Other", listKind="Others")
        )
