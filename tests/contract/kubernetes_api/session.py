"""The requests of a case to an API server, and their record.

A case writes `{ns}` for its own namespace; every request and response is kept unchanged, and `transcript.py`
normalizes the record afterwards. Independent of the server.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.api_servers import ApiServer
from support.kube_http import Answer, HttpClient, Stream

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

KEPT_HEADERS = ("Content-Type", "Warning", "Retry-After", "Allow")
WAIT = 45.0
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

Select = Callable[[Any], Any]


class Unprepared(AssertionError):
    """A prerequisite of a case could not be created before its first recorded request."""


@dataclass(kw_only=True)
class Step:
    """A request, or a part of a watch, with its response."""

    request: str
    headers: dict[str, str] = field(default_factory=dict)
    sent: Any = None
    status: int
    answered_with: dict[str, list[str]] = field(default_factory=dict)
    body: Any = None
    events: list[Any] | None = None
    is_kept: bool = True
    """False for preparation: it defines names of the case and is not compared."""


class Session:
    """A case's access to a server."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.ns = "ns-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))
        self.steps: list[Step] = []
        self._client = server.client()
        self._is_recording = True
        self._watches: list[Watching] = []

    def begin(self) -> None:
        """Create the namespace of this case."""
        with self.unrecorded():
            self.post(
                "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
            )

    def close(self) -> None:
        for watching in self._watches:
            watching.close()
        self._client.close()

    # -- requests -----------------------------------------------------------------------------------------------

    def get(self, path: str, **how: Any) -> Answer:
        return self.request("GET", path, **how)

    def post(self, path: str, body: Any = None, **how: Any) -> Answer:
        return self.request("POST", path, body, **how)

    def put(self, path: str, body: Any = None, **how: Any) -> Answer:
        return self.request("PUT", path, body, **how)

    def patch(self, path: str, body: Any, media: str = MERGE, **how: Any) -> Answer:
        return self.request("PATCH", path, body, media=media, **how)

    def merge(self, path: str, body: Any, **how: Any) -> Answer:
        return self.patch(path, body, MERGE, **how)

    def apply(
        self, path: str, body: Any, manager: str | None = "one", *, force: bool = False, **how: Any
    ) -> Answer:
        query = "&".join(
            [*([f"fieldManager={manager}"] if manager else []), *(["force=true"] if force else [])]
        )
        joined = path + ("&" if "?" in path else "?") + query if query else path
        return self.patch(joined, body, APPLY, **how)

    def delete(self, path: str, body: Any = None, **how: Any) -> Answer:
        return self.request("DELETE", path, body, **how)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str | None = JSON,
        accept: str | None = None,
        headers: dict[str, str] | None = None,
        token: str | None = None,
        select: Select | None = None,
        raw: Callable[[bytes], Any] | None = None,
        shown: str | None = None,
        seconds: float = 30.0,
    ) -> Answer:
        """Send and record a request. `select` keeps a part of the response, `raw` a property of its bytes; `shown`
        stands for a body that is too long to record.
        """
        sent = self.filled(body)
        content = _content(sent)
        extra = dict(headers or {})
        if accept is not None:
            extra["Accept"] = accept
        if content is not None and media is not None:
            extra["Content-Type"] = media
        client = self._client if token is None else self.server.client(token=token)
        answer = client.request(method, self.filled(path), content, self.filled(extra), seconds=seconds)
        if token is not None:
            client.close()
        kept = {name: value for name, value in extra.items() if (name, value) != ("Content-Type", JSON)}
        self.steps.append(
            Step(
                request=f"{method} {self.filled(path)}",
                headers=kept,
                sent=shown
                or (sent if not isinstance(sent, bytes) else sent.decode(errors="backslashreplace")),
                status=answer.status,
                answered_with=_kept(answer.headers),
                body=raw(answer.content)
                if raw is not None
                else select(answer.body)
                if select
                else answer.body,
                is_kept=self._is_recording,
            )
        )
        if not self._is_recording and not answer.is_success:
            raise Unprepared(
                f"{method} {self.filled(path)}: {answer.status} {answer.content.decode(errors='replace')}"
            )
        return answer

    # -- watches ------------------------------------------------------------------------------------------------

    @contextmanager
    def watch(
        self, path: str, *, accept: str | None = None, select: Select | None = None
    ) -> Iterator["Watching"]:
        """Open a watch; events are recorded when they are read."""
        headers = {"Accept": accept} if accept else {}
        joined = self.filled(path) + ("&" if "?" in path else "?") + "watch=true"
        stream = self._client.stream(joined, headers)
        watching = Watching(self, stream, joined, headers, select)
        self._watches.append(watching)
        try:
            yield watching
        finally:
            watching.close()

    def record_events(
        self, request: str, headers: dict[str, str], stream: Stream, events: list[Any], select: Select | None
    ) -> None:
        self.steps.append(
            Step(
                request=f"WATCH {request}",
                headers=headers,
                status=stream.status,
                answered_with=_kept(stream.headers),
                events=[select(event) for event in events] if select else events,
                is_kept=self._is_recording,
            )
        )

    # -- not recorded -------------------------------------------------------------------------------------------

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Send requests that only prepare: they are not recorded, and each must succeed."""
        before, self._is_recording = self._is_recording, False
        try:
            yield
        finally:
            self._is_recording = before

    def eventually(
        self, path: str, holds: Callable[[Answer], bool], *, record: bool = True, **how: Any
    ) -> Answer:
        """Repeat a request without recording it until the condition is true; then send it once more for the record."""
        deadline = time.monotonic() + WAIT
        while not holds(answer := self._client.request("GET", self.filled(path))):
            if time.monotonic() > deadline:
                raise Unprepared(
                    f"GET {self.filled(path)} still answers {answer.status} {answer.content[:2000]!r}"
                )
            time.sleep(0.05)
        return self.get(path, **how) if record else answer

    def gone(self, path: str) -> Answer:
        return self.eventually(path, lambda answer: answer.status == 404)

    def install(self, crd: dict[str, Any]) -> None:
        """Create a CRD of this case and wait until its served versions are available and discoverable."""
        with self.unrecorded():
            made = self.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).body
        for version in made["spec"]["versions"]:
            if version["served"]:
                await_kind(self._client, made, version["name"])

    def filled(self, value: Any) -> Any:
        """Replace `{ns}` with this case's namespace in text, keys and values."""
        match value:
            case str():
                return value.replace("{ns}", self.ns)
            case bytes():
                return value.replace(b"{ns}", self.ns.encode())
            case dict():
                return {self.filled(name): self.filled(item) for name, item in value.items()}
            case list():
                return [self.filled(item) for item in value]
            case _:
                return value


class Watching:
    """An open watch of a case."""

    def __init__(
        self, session: Session, stream: Stream, request: str, headers: dict[str, str], select: Select | None
    ) -> None:
        self._session, self._stream = session, stream
        self._request, self._headers, self._select = request, headers, select

    @property
    def status(self) -> int:
        return self._stream.status

    def read(self, count: int, *, seconds: float = 20.0) -> list[Any]:
        """The next `count` events; fewer if the stream ends."""
        return self._until(lambda events: len(events) == count, seconds)

    def until(self, holds: Callable[[Any], bool], *, seconds: float = 20.0) -> list[Any]:
        """Events up to and including the first that matches."""
        return self._until(lambda events: bool(events) and holds(events[-1]), seconds)

    def until_named(self, name: str, kind: str = "ADDED") -> list[Any]:
        """Events up to the last object that this case created, so that no event is missed."""
        return self.until(lambda event: event["type"] == kind and _name_of(event["object"]) == name)

    def rest(self, *, seconds: float = 20.0) -> list[Any]:
        """All events until the server ends the stream."""
        return self._until(lambda _: False, seconds)

    def _until(self, enough: Callable[[list[Any]], bool], seconds: float) -> list[Any]:
        events: list[Any] = []
        deadline = time.monotonic() + seconds
        while not enough(events):
            event = self._stream.next(seconds=max(deadline - time.monotonic(), 0.01))
            if event is None:
                break
            events.append(event)
        self._session.record_events(self._request, self._headers, self._stream, events, self._select)
        return events

    def close(self) -> None:
        self._stream.close()


def await_kind(client: HttpClient, crd: dict[str, Any], version: str) -> None:
    """Wait until a CRD's version is served and discoverable, shortly after its creation on a real server."""
    group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
    deadline = time.monotonic() + WAIT
    while True:
        listed = client.request("GET", f"/apis/{group}/{version}/{plural}?limit=1")
        response = client.request("GET", f"/apis/{group}/{version}")
        if (
            listed.is_success
            and response.is_success
            and plural in [r["name"] for r in response.body["resources"]]
        ):
            return
        if time.monotonic() > deadline:
            raise Unprepared(
                f"{plural}.{version}.{group} is not served: {listed.status} {listed.content[:500]!r}"
            )
        time.sleep(0.05)


def _content(sent: Any) -> bytes | None:
    match sent:
        case None | bytes():
            return sent
        case str():
            return sent.encode()
        case _:
            return json.dumps(sent).encode()


def _kept(headers: Any) -> dict[str, list[str]]:
    return {name: values for name in KEPT_HEADERS if (values := headers.get_all(name))}


def _name_of(body: dict[str, Any]) -> str | None:
    if body.get("kind") == "Table":
        return body["rows"][0]["object"]["metadata"]["name"] if body["rows"] else None
    return body.get("metadata", {}).get("name")
