"""A step kind of one folder and one row, run by the real controllers on the embedded API server."""

import asyncio

import pytest

from jangar.controllers.resources import RUN_UID, resource_of
from jangar.crdgen.crd import crd_of
from jangar.kinds.registry import STEP_KINDS
from kubekit.client.api_client import PatchKind
from simulation.bed import NAMESPACE, bed, step
from simulation.simulated_server import DEFINITIONS
from support.step_kind_example.question import QUESTION
from support.step_kind_example.step import STEP
from support.virtual_time import run_virtual

QUESTIONS = resource_of(QUESTION)
ASK = {"name": "ask", "kind": "AskPerson", "dependsOn": [], "with": {"text": "Deploy?"}}


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(STEP_KINDS, STEP.name, STEP)


async def await_question(made, *, withdrawn=None):
    """The question of the run, as soon as it exists and is withdrawn or not."""
    while True:
        for question in await made.client.list(QUESTIONS, NAMESPACE):
            if question["spec"].get("withdrawn") == withdrawn:
                return question
        await asyncio.sleep(0.1)


async def started(made):
    await made.client.create(DEFINITIONS, crd_of(QUESTION))
    await asyncio.sleep(1)
    await made.orchestration("o", [ASK, step("deploy", "ask", given={"x": "{{ steps.ask.outputs.answer }}"})])
    made.start_controllers()
    await made.start_run()
    return await await_question(made)


async def write_status(made, obj, status):
    meta = obj["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "status": status}
    await made.client.patch(
        QUESTIONS, meta["name"], NAMESPACE, body, kind=PatchKind.MERGE, subresource="status"
    )


def test_an_answered_question_ends_its_step_and_feeds_the_next():
    """Planned, started, observed; its output is a parameter of the next step's child."""

    async def simulate():
        async with bed() as made:
            question = await started(made)
            assert question["spec"] == {"text": "Deploy?"}
            assert question["metadata"]["labels"][RUN_UID]
            await write_status(made, question, {"answer": "yes"})
            return await made.ended()

    run = run_virtual(simulate())
    assert run["status"]["phase"] == "Succeeded"
    assert [item["outputs"] for item in run["status"]["stepStatuses"][:1]] == [{"answer": "yes"}]


def test_a_cancelled_run_withdraws_its_question():
    """Stopped as the kind says; the run ends once the question is closed."""

    async def simulate():
        async with bed() as made:
            question = await started(made)
            await made.cancel()
            await await_question(made, withdrawn=True)
            await write_status(made, question, {"closed": True})
            return await made.ended()

    assert run_virtual(simulate())["status"]["phase"] == "Cancelled"
