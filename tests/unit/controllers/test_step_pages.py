"""The pages of a big run: only those that the run recorded are read, and foreign ones never stand in its way."""

import asyncio
import base64
import gzip

import orjson
import pytest

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import StepKind
from jangar.controllers.orchestrationrun.memory import RunMemory
from jangar.controllers.orchestrationrun.record import KEY, MAX_NAMES, MissingPage, StepPages, read_steps
from jangar.controllers.resources import resource_of
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.status_document import page_name
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.errors import AlreadyExists
from support.answering_transport import AnsweringTransport

RUN = Cached.of({"metadata": {"name": "run", "namespace": "ci", "uid": "r1", "resourceVersion": "1"}})
TAKEN = AlreadyExists("configmaps", status=409)
STEPS = [StepState(name="a", kind=StepKind.TOOL_RUN)]


def a_page(uid, steps, owner="r1", number=0, **more):
    data = base64.b64encode(gzip.compress(orjson.dumps({"page": number, "steps": steps}))).decode()
    owners = [{"kind": "OrchestrationRun", "name": "run", "uid": owner, "controller": True}]
    name = page_name("run", "r1", number)
    meta = {"name": name, "namespace": "ci", "uid": uid, "resourceVersion": "1", "ownerReferences": owners}
    return {"metadata": meta, "binaryData": {KEY: data}, **more}


OURS = a_page("p1", [{"name": "a", "kind": "ToolRun"}])


def read(listed, **recorded):
    pages = {"names": [page_name("run", "r1", 0)], "uids": ["p1"], "pageSize": 100, "total": 1} | recorded
    client = Client(AnsweringTransport({"metadata": {}, "items": listed}), manager="test")
    return asyncio.run(read_steps(client, RUN, {"stepPages": pages}))


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(a_page("p2", [{"name": "b", "kind": "ToolRun"}]), id="same owner and number"),
        pytest.param(a_page("p2", [{"name": "b", "kind": "ToolRun"}], number=1), id="another number"),
        pytest.param(a_page("p1", [{"name": "b", "kind": "ToolRun"}], owner="r2"), id="another owner"),
        pytest.param({"metadata": {"name": "x", "uid": "p3"}}, id="no page at all"),
    ],
)
def test_a_page_with_another_owner_is_not_read(foreign):
    """E11: any user who may create a ConfigMap can write its labels and owner."""
    assert [step["name"] for step in read([foreign, OURS])] == ["a"]


def test_pages_of_an_earlier_version_are_known_by_their_names():
    """It recorded no uids."""
    assert [step["name"] for step in read([OURS], uids=None)] == ["a"]


@pytest.mark.rule("DAG-14")
def test_a_record_with_a_missing_page_is_no_record():
    """DAG-14: what is left would look like a smaller run."""
    with pytest.raises(MissingPage, match="pages of run run are gone or were replaced"):
        read([a_page("p2", [])])


def written(*answers):
    transport = AnsweringTransport(*answers)
    pages = StepPages(Client(transport, manager="test"), resource_of(ORCHESTRATION_RUN))
    return transport, asyncio.run(pages.write(RUN, RunMemory(uid="r1"), STEPS))


def test_the_uids_of_pages_are_recorded():
    """E11: by them a reader knows the run's own."""
    _, recorded = written(OURS)
    assert recorded["uids"] == ["p1"]
    assert recorded["total"] == 1


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(a_page("p2", [], owner="r2"), id="another owner"),
        pytest.param(a_page("p2", [], immutable=True), id="forged owner, cannot be written"),
    ],
)
def test_a_taken_name_is_passed_over(foreign):
    """E11: the page gets another name, which the status records."""
    other = a_page("p9", [])
    other["metadata"]["name"] = page_name("run", "r1", 0, 1)
    transport, recorded = written(TAKEN, foreign, other)
    assert recorded["names"] == [page_name("run", "r1", 0, 1)]
    assert [item.method for item in transport.requests] == ["POST", "GET", "POST"]


def test_a_page_whose_names_are_all_taken_says_which():
    """E11: the failure is reported and retried; nothing is half written."""
    with pytest.raises(MissingPage, match="cannot be written"):
        written(*([TAKEN, a_page("p2", [], owner="r2")] * MAX_NAMES))
