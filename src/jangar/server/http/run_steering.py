"""Routes that change something: every one as the caller, with the caller's own rights at the Kubernetes API."""

from typing import Any

from jangar.operations import run_control as steering
from jangar.operations import run_documents as documents
from jangar.operations.run_reading import RUNS
from jangar.operations.submit import RunSubmission, submit
from jangar.server.http.problems import Problem
from jangar.server.http.table import Answer, Ask
from kubekit.client.api_client import Obj

MAX_KEY = 255


def idempotency_key(ask: Ask, *, required: bool = False) -> str | None:
    key = ask.request.headers.get("idempotency-key")
    if key is None and required:
        raise Problem(400, "the header Idempotency-Key is missing", fix="send a new one with each new order")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isprintable() and key.isascii()):
        raise Problem(400, f"an Idempotency-Key has 1 to {MAX_KEY} printable ASCII characters")
    return key


async def submit_run(ask: Ask) -> Answer:
    body = ask.body
    made = await submit(
        ask.who.client,
        RunSubmission(
            namespace=ask.path["namespace"],
            orchestration=body.orchestration,
            definition=body.definition,
            parameters=body.parameters,
            policies=body.policies,
            name=body.name,
            labels=body.labels,
            key=idempotency_key(ask),
            by=ask.who.name,
        ),
        ask.service.ring,
    )
    return {"run": documents.listed(made.run), "repeated": made.is_repeat}


async def cancel_run(ask: Ask) -> Answer:
    return _steered(await steering.cancel(ask.who.client, await _there(ask)))


async def suspend_run(ask: Ask) -> Answer:
    return _steered(await steering.hold(ask.who.client, await _there(ask), suspend=True))


async def resume_run(ask: Ask) -> Answer:
    return _steered(await steering.hold(ask.who.client, await _there(ask), suspend=False))


async def retry_run(ask: Ask) -> Answer:
    read = await ask.service.reads.read(ask.path["namespace"], ask.path["name"])
    from_step = ask.body.from_step if ask.body else None
    made = await steering.retry(
        ask.who.client, read, from_step=from_step, name=_new_name(ask), by=ask.who.name
    )
    return _submitted(made)


async def resubmit_run(ask: Ask) -> Answer:
    read = await ask.service.reads.read(ask.path["namespace"], ask.path["name"])
    parameters = ask.body.parameters if ask.body else None
    made = await steering.resubmit(
        ask.who.client, read, name=_new_name(ask), parameters=parameters, by=ask.who.name
    )
    return _submitted(made)


async def delete_run(ask: Ask) -> Answer:
    is_gone = await steering.delete(ask.who.client, await _there(ask))
    return {"message": "it is deleted" if is_gone else "its work is stopped first, then it goes"}


async def _there(ask: Ask) -> Obj:
    """As it is now, not as a cache has it: what is decided here is written."""
    return await ask.who.client.get(RUNS, ask.path["name"], ask.path["namespace"])


def _new_name(ask: Ask) -> str | None:
    return ask.body.name if ask.body else None


def _steered(found: steering.Steered) -> dict[str, Any]:
    return {"run": documents.listed(found.run), "changed": found.changed, "message": f"it {found.message}"}


def _submitted(run: Obj) -> dict[str, Any]:
    return {"run": documents.listed(run), "repeated": False}
