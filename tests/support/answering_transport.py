"""A transport that records requests and answers from a list, below the client."""

from typing import NamedTuple

import orjson

from kubekit.client.transport import Response


class RecordedRequest(NamedTuple):
    """One request."""

    method: str
    path: str
    query: dict
    body: object


class AnsweringTransport:
    """Answers in order: an exception is raised, bytes are a body, a number is an error with that status."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    async def request(self, method, path, *, query=None, body=None, content_type="", timeout=0.0):  # noqa: ASYNC109 - the protocol's
        self.requests.append(
            RecordedRequest(method, path, dict(query or {}), orjson.loads(body) if body else None)
        )
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            status_body = {"kind": "Status", "status": "Failure", "code": answer, "message": "on order"}
            return Response(answer, {}, orjson.dumps(status_body))
        return Response(200, {}, answer if isinstance(answer, bytes) else orjson.dumps(answer))

    async def close(self):
        pass
