"""Writes of the controllers: to the very object that was decided about, only what differs, and done already is done."""

import asyncio

import pytest

from jangar.api.tools import TOOL_RUN
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.resources import resource_of
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import Conflict
from picokube.apiserver.apply.json_patch import json_patch
from support.answering_transport import AnsweringTransport

GUARDS = [
    {"op": "replace", "path": "/metadata/uid", "value": "u1"},
    {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
]


def a_job(version="7", status=None, **metadata):
    meta = {"name": "build", "namespace": "ci", "uid": "u1", "resourceVersion": version} | metadata
    return {"metadata": meta} | ({} if status is None else {"status": status})


class Bench:
    """A client whose other side is a list of answers."""

    def __init__(self, *answers, resource=JOBS):
        self.transport = AnsweringTransport(*answers)
        self.client = Client(self.transport, manager="test")
        self.informer = Informer(self.client, resource, namespaces=Namespaces.every())
        self.children = Informer(self.client, resource_of(TOOL_RUN), namespaces=Namespaces.every())
        self.writes = ObjectWrites(self.client)

    @property
    def cached(self):
        return self.informer.cache.get("ci", "build")

    def status(self, seen, status, *, known=frozenset({"phase", "updatedAt"})):
        writer = StatusWriter(self.client)
        return asyncio.run(writer.write(self.children, Cached.of(seen), status, known=known))

    def do(self, name, *given):
        return asyncio.run(getattr(self.writes, name)(self.informer, *given))


@pytest.mark.rule("ST-6", "ST-1")
def test_a_status_is_written_as_what_differs_for_this_version_of_this_object():
    """Guarded by uid and version; fields of others stay; the cache knows the answer at once."""
    bench = Bench(a_job("8", {"phase": "Running", "theirs": 1}))
    seen = a_job(status={"phase": "Pending", "theirs": 1})
    written = bench.status(seen, {"phase": "Running"})
    (request,) = bench.transport.requests
    assert request.path.endswith("/toolruns/build/status")
    assert request.body == [*GUARDS, {"op": "replace", "path": "/status/phase", "value": "Running"}]
    assert written.resource_version == "8"
    assert bench.children.cache.get("ci", "build").resource_version == "8"


@pytest.mark.rule("CHART-4")
def test_two_versions_side_by_side_keep_each_others_fields():
    """Each shard may change hands between an old and a new version at any time: neither drops what it does not know."""
    old, new = frozenset({"phase"}), frozenset({"phase", "cost"})
    status = {"phase": "Pending"}
    turns = [
        (new, {"phase": "Running", "cost": {"tokens": 5}}),
        (old, {"phase": "Retrying"}),
        (new, {"phase": "Running", "cost": {"tokens": 9}}),
        (old, {"phase": "Succeeded"}),
    ]
    for known, decided in turns:
        seen = a_job(status=status)
        bench = Bench(a_job("8", status))
        bench.status(seen, decided, known=known)
        status = json_patch(
            {"metadata": seen["metadata"], "status": status}, bench.transport.requests[0].body
        )["status"]
    assert status == {"phase": "Succeeded", "cost": {"tokens": 9}}


def test_the_first_status_is_added_whole():
    """There is nothing to differ from."""
    bench = Bench(a_job("8", {"phase": "Pending"}))
    bench.status(a_job(), {"phase": "Pending"})
    assert bench.transport.requests[0].body == [
        *GUARDS,
        {"op": "add", "path": "/status", "value": {"phase": "Pending"}},
    ]


@pytest.mark.rule("ST-3")
def test_a_status_that_only_differs_in_its_time_is_not_written():
    """The object that was given comes back itself."""
    bench = Bench()
    bench.status(a_job(status={"phase": "Pending", "updatedAt": "a"}), {"phase": "Pending", "updatedAt": "b"})
    assert bench.transport.requests == []


@pytest.mark.rule("ST-6")
def test_a_status_for_another_version_is_a_conflict():
    """The reconciler reads the object and decides again."""
    with pytest.raises(Conflict):
        Bench(409).status(a_job(), {"phase": "Running"})


@pytest.mark.rule("ST-6", "CAN-3")
def test_patches_name_the_uid_and_what_is_gone_is_done():
    """A JSON patch tests it, a merge patch carries it; 404 is success."""
    bench = Bench(a_job("8"), a_job("9"), 404, 404)
    operations = [{"op": "add", "path": "/spec/x", "value": 1}]
    bench.do("patch", "build", "ci", "u1", operations)
    bench.do("merge", "build", "ci", "u1", {"spec": {"suspend": True}, "metadata": {"labels": {"a": "b"}}})
    bench.do("patch", "build", "ci", "u1", operations)
    bench.do("merge", "build", "ci", "u1", {"spec": {}})
    assert bench.transport.requests[0].body == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        *operations,
    ]
    assert bench.transport.requests[1].body == {
        "spec": {"suspend": True},
        "metadata": {"uid": "u1", "labels": {"a": "b"}},
    }
    assert bench.cached.resource_version == "9"


def test_a_patch_that_no_longer_fits_means_that_the_object_has_moved_on():
    """422 to a tested patch is a conflict, so that the pass is made again and not given up."""
    with pytest.raises(Conflict):
        Bench(422).do("patch", "build", "ci", "u1", [])


@pytest.mark.rule("CAN-3")
@pytest.mark.parametrize("answer", [404, 409])
def test_deleting_what_is_gone_or_replaced_is_done(answer):
    """By uid, so that an object recreated under the name is left alone."""
    bench = Bench(answer)
    bench.do("delete", "build", "ci", "u1")
    assert bench.transport.requests[0].body["preconditions"] == {"uid": "u1"}


def test_a_finalizer_is_put_and_taken_without_touching_others():
    """Put for this version only; taken by a patch that tests its place."""
    bench = Bench(a_job("8"), a_job("9"))
    seen = Cached.of(a_job(finalizers=["theirs"]))
    bench.do("hold", seen, CLEANUP_FINALIZER)
    assert bench.transport.requests[0].body["metadata"] == {
        "uid": "u1",
        "resourceVersion": "7",
        "finalizers": ["theirs", CLEANUP_FINALIZER],
    }
    bench.do("let_go", Cached.of(a_job(finalizers=["theirs", CLEANUP_FINALIZER])), CLEANUP_FINALIZER)
    assert bench.transport.requests[1].body[1:] == [
        {"op": "test", "path": "/metadata/finalizers/1", "value": CLEANUP_FINALIZER},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    bench.do("let_go", seen, CLEANUP_FINALIZER)
    assert len(bench.transport.requests) == 2


@pytest.mark.parametrize(("resource", "stays"), [(JOBS, False), (PODS, True)], ids=["job", "pod"])
def test_an_object_whose_last_finalizer_went_is_gone_from_the_cache(resource, stays):
    """But a pod that is being deleted may still be ending: the watch reports its end."""
    dying = {"deletionTimestamp": "2026-02-07T12:00:00Z"}
    bench = Bench(a_job("8", finalizers=["x"], **dying), a_job("9", **dying), resource=resource)
    bench.do("patch", "build", "ci", "u1", [])
    assert bench.cached is not None
    bench.do("patch", "build", "ci", "u1", [])
    assert (bench.cached is not None) == stays
