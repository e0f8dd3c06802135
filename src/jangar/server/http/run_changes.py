"""Routes that create or change runs, with the caller's own permissions at the Kubernetes API."""

from typing import Any

from jangar.operations import run_control, submit
from jangar.operations.run_documents import list_item
from jangar.server.http.problems import Problem
from jangar.server.http.route import Answer, ApiRequest
from kubekit.client.api_client import Obj

MAX_KEY = 255


def idempotency_key(request: ApiRequest, *, required: bool = False) -> str | None:
    key = request.http.headers.get("idempotency-key")
    if key is None and required:
        raise Problem(400, "the header Idempotency-Key is missing", fix="send a new one with each new order")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isprintable() and key.isascii()):
        raise Problem(400, f"an Idempotency-Key has 1 to {MAX_KEY} printable ASCII characters")
    return key


async def submit_run(request: ApiRequest) -> Answer:
    fields = request.body.model_dump(by_alias=False)
    submission = submit.RunSubmission(
        namespace=request.path["namespace"], key=idempotency_key(request), **fields
    )
    created = await submit.submit_run(request.caller, submission)
    return _created(created.run, is_repeat=created.is_repeat)


async def cancel_run(request: ApiRequest) -> Answer:
    return _changed(await run_control.cancel_run(request.caller, request.run))


async def suspend_run(request: ApiRequest) -> Answer:
    return _changed(await run_control.suspend_run(request.caller, request.run))


async def resume_run(request: ApiRequest) -> Answer:
    return _changed(await run_control.resume_run(request.caller, request.run))


async def retry_run(request: ApiRequest) -> Answer:
    fields = request.body.model_dump(by_alias=False) if request.body else {}
    return _created(await submit.retry_run(request.caller, request.run, **fields))


async def resubmit_run(request: ApiRequest) -> Answer:
    fields = request.body.model_dump(by_alias=False) if request.body else {}
    return _created(await submit.resubmit_run(request.caller, request.run, **fields))


async def delete_run(request: ApiRequest) -> Answer:
    is_deleted = await run_control.delete_run(request.caller, request.run)
    return {"message": "it is deleted" if is_deleted else "its work is stopped first, then it goes"}


def _changed(change: run_control.RunChange) -> dict[str, Any]:
    return {"run": list_item(change.run), "changed": change.changed, "message": f"it {change.message}"}


def _created(run: Obj, *, is_repeat: bool = False) -> dict[str, Any]:
    return {"run": list_item(run), "repeated": is_repeat}
