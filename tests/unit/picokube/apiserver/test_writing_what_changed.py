"""Writes share unchanged parts with the stored object, and no reader notices."""

import asyncio
import copy
import random

import orjson
import pytest

from picokube.apiserver.handlers.objects import update_object
from picokube.apiserver.handlers.patch import JSON_PATCH, MERGE, patch_object
from picokube.apiserver.objects.context import DecodedCache, key_of
from picokube.apiserver.objects.deletion import DeleteOptions, delete
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.memoize import MAX_LENGTH, memoized
from picokube.apiserver.protocol.messages import Request, Target
from picokube.apiserver.storage.store import Key, Stored
from picokube.apiserver.strategies.crds.custom import resource_types_of
from support.server_parts import make, server_parts

STEP = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "phase": {"type": "string", "default": "Pending"},
        "share": {"type": "number"},
    },
}
CRD = {
    "metadata": {"name": "runs.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "runs", "kind": "Run"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
                            "status": {
                                "type": "object",
                                "properties": {"steps": {"type": "array", "items": STEP, "maxItems": 40}},
                            },
                        },
                    }
                },
            }
        ],
    },
}
POD = {
    "kind": "Pod",
    "spec": {
        "nodeName": "here",
        "containers": [
            {"name": "a", "image": "x", "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Mi"}}},
            {"name": "b", "image": "y", "ports": [{"containerPort": 80}]},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}
TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]},
}
JOB = {"kind": "Job", "spec": {"template": TEMPLATE}}


class Written:
    """One object of a kind in a server, which is changed by requests."""

    def __init__(self, serving, group, plural):
        self.serving = serving
        self.resource = serving.registry.find(group, "v1", plural)

    @property
    def key(self):
        return key_of(self.resource, "n", "a")

    @property
    def stored(self):
        return self.serving.store.get(self.key)

    @property
    def object(self):
        return orjson.loads(self.stored.data)

    @property
    def kept(self):
        return self.serving.last_written.of(self.stored)

    async def patch(self, body, *, subresource="", kind=JSON_PATCH):
        await patch_object(
            self.serving, self.resource, *self.request_for(body, subresource=subresource, kind=kind)
        )
        return self.object

    async def put(self, obj, *, subresource=""):
        request = self.request_for(obj, method="PUT", subresource=subresource, kind="application/json")
        await update_object(self.serving, self.resource, *request)
        return self.object

    def request_for(self, body, *, method="PATCH", subresource="", kind=JSON_PATCH, **query):
        target = Target(
            group=self.resource.group,
            version="v1",
            resource=self.resource.plural,
            namespace="n",
            name="a",
            subresource=subresource,
        )
        headers = {"content-type": kind}
        return target, Request(method=method, path="/", query=query, headers=headers, body=orjson.dumps(body))


def in_a_server(tmp_path, group, plural, obj, test):
    async def run():
        async with server_parts(tmp_path) as serving:
            serving.registry.serve_custom("runs.example.com", resource_types_of(CRD))
            await make(serving, plural, obj, group=group)
            await test(Written(serving, group, plural))

    asyncio.run(run())


def add(path, value):
    return [{"op": "add", "path": path, "value": value}]


def remove(path):
    return [{"op": "remove", "path": path}]


def a_run(steps):
    return {"steps": [{"name": f"s{n}"} for n in range(steps)]}


CHANGES = {
    "pods": (
        "",
        POD,
        [
            (add("/metadata/finalizers", ["a.b/c", "d.e/f"]), ""),
            (remove("/metadata/finalizers/0"), ""),
            (add("/spec/containers/1/image", "z"), ""),
            (add("/status/phase", "Running"), "status"),
            (add("/status/podIP", "10.0.0.1"), "status"),
            (add("/metadata/labels", {"a": "b"}), ""),
        ],
    ),
    "jobs": (
        "batch",
        JOB,
        [
            (add("/spec/ttlSecondsAfterFinished", 5), ""),
            (add("/spec/parallelism", 2), ""),
            (add("/status", {"startTime": "2026-01-01T00:00:00Z", "active": 1}), "status"),
            (add("/metadata/annotations", {"a": "b"}), ""),
        ],
    ),
    "runs": (
        "example.com",
        {"kind": "Run", "spec": {"a": "x"}},
        [
            (add("/status", a_run(30)), "status"),
            (add("/status/steps/3/phase", "Running"), "status"),
            (add("/status/steps/4/share", 1.0), "status"),
            (remove("/status/steps/0"), "status"),
            (add("/spec/a", "y"), ""),
            (add("/metadata/finalizers", ["a.b/c"]), ""),
        ],
    ),
}


@pytest.mark.parametrize("plural", CHANGES)
def test_what_is_kept_of_a_write_is_what_its_bytes_say_and_never_changes(tmp_path, plural):
    """Later writes share its parts, and change none of them."""
    group, obj, changes = CHANGES[plural]

    async def test(written):
        seen = [(written.kept, copy.deepcopy(written.kept))]
        for body, subresource in changes:
            assert await written.patch(body, subresource=subresource)
            assert written.kept is not None
            assert orjson.dumps(written.kept, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
                written.object, option=orjson.OPT_SORT_KEYS
            )
            seen.append((written.kept, copy.deepcopy(written.kept)))
        for kept, as_it_was in seen:
            assert orjson.dumps(kept) == orjson.dumps(as_it_was)

    in_a_server(tmp_path, group, plural, obj, test)


@pytest.mark.parametrize("plural", CHANGES)
def test_a_write_makes_the_same_of_what_is_kept_and_of_what_is_read(tmp_path, plural):
    """Byte for byte, whether the object before was known or not."""
    group, obj, changes = CHANGES[plural]
    results = {}

    def reported(forgetful):
        async def test(written):
            found = results[forgetful] = []
            for body, subresource in changes:
                if forgetful:
                    written.serving.last_written.forget(written.key)
                await written.patch(body, subresource=subresource)
                found.append(written.stored.data)

        return test

    for forgetful in (False, True):
        in_a_server(tmp_path / str(forgetful), group, plural, obj, reported(forgetful))
    assert results[False] == results[True]


@pytest.fixture(autouse=True)
def _directories(tmp_path):
    for name in ("True", "False"):
        (tmp_path / name).mkdir()


def test_a_put_of_what_is_stored_changes_nothing(tmp_path):
    async def test(written):
        before = written.stored
        await written.put(written.object)
        assert written.stored is before

    in_a_server(tmp_path, "", "pods", POD, test)


def test_a_job_that_loses_its_labels_has_those_of_its_template(tmp_path):
    """Although nothing of its wanted state was written."""

    async def test(written):
        labels = written.object["spec"]["template"]["metadata"]["labels"]
        assert (await written.patch(remove("/metadata/labels")))["metadata"]["labels"] == labels

    in_a_server(tmp_path, "batch", "jobs", JOB, test)


def test_items_of_a_long_list_are_defaulted_pruned_and_checked_where_they_are_new(tmp_path):
    async def test(written):
        await written.patch(add("/status", a_run(30)), subresource="status")
        changed = await written.patch(add("/status/steps/-", {"name": "new", "odd": 1}), subresource="status")
        assert changed["status"]["steps"][-1] == {"name": "new", "phase": "Pending"}
        for wrong in ({"name": "much too long"}, {"phase": "x"}, {"name": 1}, "text"):
            with pytest.raises(ApiError, match="invalid"):
                await written.patch(add("/status/steps/7", wrong), subresource="status")
        with pytest.raises(ApiError, match="must have at most 40 items"):
            await written.patch({"status": a_run(41)}, subresource="status", kind=MERGE)
        assert written.object == changed

    in_a_server(tmp_path, "example.com", "runs", {"kind": "Run", "spec": {}}, test)


def test_a_removed_object_keeps_what_it_was_for_those_who_know_it(tmp_path):
    """The revision of its end is that of its last state alone."""

    async def test(written):
        await written.patch(add("/metadata/finalizers", ["a.b/c"]))
        await delete(written.serving, written.resource, written.key, DeleteOptions())
        await written.patch(add("/spec/a", "y"))
        kept, before = written.kept, copy.deepcopy(written.kept)
        await patch_object(
            written.serving, written.resource, *written.request_for(remove("/metadata/finalizers"))
        )
        assert written.stored is None
        assert kept == before

    in_a_server(tmp_path, "example.com", "runs", {"kind": "Run", "spec": {}}, test)


def test_the_objects_written_last_are_kept_within_a_limit():
    kept = DecodedCache(most_bytes=100)
    stored = [Stored(key=Key("pods", "n", str(n)), uid=str(n), revision=n, data=b"x" * 40) for n in range(3)]
    for item in stored:
        kept.keep(item, {"n": item.revision})
    assert [kept.of(item) for item in stored] == [None, {"n": 1}, {"n": 2}]


def test_an_object_is_known_at_one_revision_only():
    kept = DecodedCache()
    old, new = (Stored(key=Key("pods", "n", "a"), uid="u", revision=n, data=b"{}") for n in (1, 2))
    kept.keep(old, {"n": 1})
    assert kept.of(new) is None
    kept.keep(new, {"n": 2})
    assert (kept.of(old), kept.of(new)) == (None, {"n": 2})


def test_answers_about_long_texts_are_not_remembered():
    lengths = []

    @memoized(4)
    def answer(text):
        lengths.append(len(text))
        return len(text)

    long = "x" * (MAX_LENGTH + 1)
    assert [answer("a"), answer("a"), answer(long), answer(long)] == [1, 1, len(long), len(long)]
    assert lengths == [1, len(long), len(long)]


def test_random_changes_of_a_run_are_judged_as_by_who_knows_nothing(tmp_path):
    """The gate sees new items only; its verdict is that on the whole object."""
    rng = random.Random(7)  # noqa: S311 - the same changes every time
    values = [{"name": "ok"}, {"name": "x" * 9}, {"name": 1}, {}, None, 3, {"name": "n", "share": 2.0}]

    async def verdict(written, change, **query):
        request = written.request_for(change, subresource="status", **query)
        try:
            answer = await patch_object(written.serving, written.resource, *request)
        except ApiError as error:
            return error.message
        return orjson.loads(answer.body)["status"]

    async def test(written):
        await written.patch(add("/status", a_run(30)), subresource="status")
        verdicts = []
        for _ in range(60):
            path = f"/status/steps/{rng.randrange(20)}"
            change = rng.choice([add(path, rng.choice(values)), remove(path)])
            stored, kept = written.stored, written.kept
            written.serving.last_written.forget(written.key)
            unknowing = await verdict(written, change, dryRun=["All"])
            written.serving.last_written.keep(stored, kept)
            verdicts.append(await verdict(written, change))
            assert verdicts[-1] == unknowing
        assert {type(item) for item in verdicts} == {str, dict}

    in_a_server(tmp_path, "example.com", "runs", {"kind": "Run", "spec": {}}, test)
