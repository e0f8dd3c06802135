"""Hostile requests: each gets a response within a second, and none causes a server error.

Ten thousand of them if JANGAR_SIMULATION is all, otherwise a sample. `JANGAR_HOSTILE_REQUESTS` changes the number,
`JANGAR_HOSTILE_SEED` the seed.
"""

import asyncio
import json
import os
import re
import ssl
import time
from collections import Counter
from pathlib import Path

import pytest

from e2e.apiserver_process import running, send, sent
from property.hostile_requests import BODY_LIMIT, NS, OBJECTS, Generator, Hostile
from support.proving import FULL

REQUESTS = int(os.environ.get("JANGAR_HOSTILE_REQUESTS", "10000" if FULL else "4000"))
SEED = int(os.environ.get("JANGAR_HOSTILE_SEED", "1"))
CALLERS = 4
WARM = 2000
WORST_SECONDS = 1.0
GROWTH_MB = 50
CRD = Path(__file__).parents[2] / "charts/agents/crds/tools.proompteng.ai_toolruns.yaml"

AS_KUBERNETES = (
    # kube-apiserver 1.35 answers the same requests with these errors, too.
    (500, re.compile(r"failed to create typed patch object|strconv\.Parse\w+: parsing")),
    (500, re.compile(r"resourceVersion should not be set on objects to be created|content is not a list")),
    (500, re.compile(r"unable to find api field in struct|list element types are not identical")),
    (500, re.compile(r"does not contain declared merge key|unknown patch type|is not a valid patch")),
    (504, re.compile(r"Too large resource version")),
    # Rejected by name: subresources that only kubelets and controllers can serve.
    (501, re.compile(r"^$|is not served|not implemented|does not implement|not supported")),
)


class Broken(AssertionError):
    """The server violated a rule."""


class Caller:
    """Sends raw requests on a connection that is kept as long as the server keeps it."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._port, self._trust = port, trust
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, request: Hostile) -> tuple[int, bytes, float]:
        """Status, start of the body, and the seconds until the response was complete or started to stream."""
        if self._writer is None or self._writer.is_closing():
            await self.connect()
        assert self._reader is not None
        assert self._writer is not None
        began = time.perf_counter()
        try:
            self._writer.write(request.wire)
            status, headers = await self._head()
            body = await self._body(request, status, headers)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            # A server may close the connection on invalid HTTP, or before an oversized body is sent
            # completely.
            self.hang_up()
            return 0, b"", time.perf_counter() - began
        seconds = time.perf_counter() - began
        if request.closes or headers.get("connection") == "close" or status in (101, 400, 413, 417, 431):
            self.hang_up()
        return status, body, seconds

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port, ssl=self._trust, limit=2**24
        )

    def hang_up(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _head(self) -> tuple[int, dict[str, str]]:
        assert self._reader is not None
        while True:
            lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
            if status != 100:
                break
        pairs = (line.partition(":") for line in lines[1:] if line)
        return status, {name.strip().lower(): value.strip() for name, _, value in pairs}

    async def _body(self, request: Hostile, status: int, headers: dict[str, str]) -> bytes:
        assert self._reader is not None
        if request.line.startswith("HEAD ") or status in (101, 204, 304):
            return b""
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        if headers.get("transfer-encoding") == "chunked":
            if request.may_stream:
                # A watch lasts as long as its client reads: this client disconnects without notice.
                self.hang_up()
                return b""
            return await self._chunks()
        return await self._reader.read()

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        body = b""
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return body


class Trial:
    """All requests, and the problems of their responses."""

    def __init__(self, server) -> None:
        self._server = server
        self._generator = Generator(SEED, token=server.token)
        self._trust = ssl.create_default_context(cafile=str(server.ca))
        self._port = int(server.url.rpartition(":")[2])
        self.problems: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.slowest = (0.0, "")
        self._slow: list[int] = []
        self.warm_mb = 0.0

    async def run(self) -> None:
        numbers = iter(range(REQUESTS))
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(self._call(numbers))
        await self._retry_slow_requests()
        await asyncio.sleep(0.1)  # the loop releases connections that the client closed

    async def _call(self, numbers) -> None:
        caller = Caller(self._port, self._trust)
        for number in numbers:
            if number == WARM:
                self.warm_mb = self._server.resident_mb
            request = self._generator.request(number)
            try:
                async with asyncio.timeout(10):
                    status, body, seconds = await caller.send(request)
            except (TimeoutError, ConnectionRefusedError) as error:
                self._note(request, f"no answer: {type(error).__name__}")
                caller.hang_up()
                if self._server.child.has_ended:
                    raise Broken(f"the server ended on request {number}: {request.line}") from error
                continue
            self.statuses[status] += 1
            self.slowest = max(self.slowest, (seconds, f"{number} {request.line[:120]}"))
            if status >= 500 and not _as_kubernetes(status, body):
                self._note(request, f"{status} {body[:300]!r}")
            if seconds > WORST_SECONDS:
                self._slow.append(number)
            if len(request.body) > BODY_LIMIT and status not in (0, 413):
                self._note(request, f"{status} for {len(request.body)} bytes")
        caller.hang_up()

    async def _retry_slow_requests(self) -> None:
        """Repeat slow requests alone and measure CPU time: other processes and requests share the cores."""
        caller = Caller(self._port, self._trust)
        for number in self._slow:
            request, before = self._generator.request(number), self._server.cpu_seconds
            async with asyncio.timeout(30):
                await caller.send(request)
            used = self._server.cpu_seconds - before
            if used > WORST_SECONDS:
                self._note(request, f"{used:.2f} s of the processor")
        caller.hang_up()

    def _note(self, request: Hostile, what: str) -> None:
        self.problems.append(f"seed {SEED} request {request.number}: {request.line}\n    {what}")


def _as_kubernetes(status: int, body: bytes) -> bool:
    text = body.decode(errors="replace")
    return any(status == code and words.search(text) for code, words in AS_KUBERNETES)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hostile")) as server:
        client = server.client()
        crd = CRD.read_text()
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = client.request("POST", path, crd.encode(), {"Content-Type": "application/yaml"})
        assert made.is_success, made.content
        sent(
            client,
            "POST",
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}},
        )
        client.close()
        yield server


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.close()


def test_hostile_requests_are_answered_and_do_not_harm_the_server(server, client):
    trial = Trial(server)
    began = time.monotonic()
    asyncio.run(trial.run())
    took = time.monotonic() - began
    reported = f"{REQUESTS} requests in {took:.0f} s, {dict(sorted(trial.statuses.items()))}, slowest {trial.slowest}"
    print(reported)  # noqa: T201 - shown with a failure, or with -s
    grown = server.resident_mb - trial.warm_mb
    assert not trial.problems, f"{reported}\n{len(trial.problems)} problems:\n" + "\n".join(
        trial.problems[:40]
    )
    assert sum(trial.statuses.values()) == REQUESTS
    assert grown < GROWTH_MB, f"{grown:.0f} MB more than after {WARM} requests"
    _is_well(server, client)


def _is_well(server, client) -> None:
    """Check that everything still works, and that the log has no internal error."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "after"}}
    sent(client, "POST", "/api/v1/namespaces", namespace)
    for collection in OBJECTS:
        if "{ns}" not in collection:
            continue
        body = OBJECTS[collection] | {"metadata": {"name": "well"}}
        if body["kind"] == "Event":
            body = body | {"involvedObject": {"kind": "Pod", "namespace": "after", "name": "x"}}
        path = collection.replace("{ns}", "after")
        made = sent(client, "POST", path, body)
        since = made["metadata"]["resourceVersion"]
        only = "fieldSelector=metadata.name=well"
        with client.stream(f"{path}?watch=true&{only}&resourceVersion={since}") as watch:
            sent(client, "DELETE", f"{path}/well?gracePeriodSeconds=0")
            # Jobs are deleted in the background: by default their pods are orphaned.
            while (event := watch.next(seconds=5))["type"] != "DELETED":
                assert event["type"] == "MODIFIED"
        assert send(client, "GET", f"{path}/well").status == 404
    assert "could not be answered" not in server.log, server.log[-3000:]


@pytest.mark.parametrize(
    ("wire", "statuses"),
    [
        pytest.param(b"GARBAGE\r\n\r\n", {0, 400, 405}, id="no-http"),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", {0, 400}, id="negative-length"
        ),
        pytest.param(
            b"POST /readyz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            {0, 400, 401, 405},
            id="bad-chunk",
        ),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            {0, 200, 400},
            id="two-lengths",
        ),
        pytest.param(
            b"GET " + b"/a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
            {0, 400, 401, 404, 414, 431},
            id="long-line",
        ),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: x\r\n"
            + b"".join(b"X-%d: y\r\n" % n for n in range(20_000))
            + b"\r\n",
            {0, 200, 400, 431},
            id="many-headers",
        ),
        pytest.param(b"GET /readyz HTTP/9.9\r\nHost: x\r\n\r\n", {0, 200, 400, 505}, id="other-version"),
        pytest.param(
            b"GET /readyz HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n", {0, 200, 400}, id="nul-in-header"
        ),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {0, 400, 401, 404, 505}, id="http2-preface"),
    ],
)
def test_invalid_http_is_rejected_or_disconnected(server, client, wire, statuses):
    async def send_request() -> int:
        trust = ssl.create_default_context(cafile=str(server.ca))
        caller = Caller(int(server.url.rpartition(":")[2]), trust)
        request = Hostile(number=0, line="", head=wire, body=b"", closes=True)
        try:
            async with asyncio.timeout(2):
                status, _, _ = await caller.send(request)
        except TimeoutError:
            # The server waits for the rest of a request: allowed while other requests are served.
            status = 0
        caller.hang_up()
        await asyncio.sleep(0.01)
        return status

    assert asyncio.run(send_request()) in statuses
    assert send(client, "GET", "/readyz").status == 200


def test_a_body_is_accepted_up_to_exactly_its_limit(client):
    path = f"/api/v1/namespaces/{NS}/configmaps"
    for size, expected in ((BODY_LIMIT + 1, {413}), (BODY_LIMIT, {422, 400})):
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{"a":"'
        body += b"x" * (size - len(body) - 3) + b'"}}'
        assert len(body) == size
        answer = client.request("POST", path, body, {"Content-Type": "application/json"})
        assert answer.status in expected, answer.content[:300]
        assert json.loads(answer.content)["kind"] == "Status"
        client.close()


def test_many_disconnecting_watchers_leak_nothing(server):
    async def crowd() -> None:
        trust = ssl.create_default_context(cafile=str(server.ca))
        port = int(server.url.rpartition(":")[2])
        line = f"GET /api/v1/namespaces/{NS}/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n"
        head = (line + f"Authorization: Bearer {server.token}\r\n\r\n").encode()
        for _ in range(2):
            opened = []
            for _ in range(50):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
                writer.write(head)
                assert b" 200 " in await asyncio.wait_for(reader.readline(), 5)
                opened.append(writer)
            for writer in opened:
                writer.transport.abort()
            await asyncio.sleep(0.01)

    # Cyclic garbage is collected by generation: memory settles after a few rounds; a leak never does.
    growth = []
    while not growth or (growth[-1] >= 20 and len(growth) < 6):
        before = server.resident_mb
        for _ in range(3):
            asyncio.run(crowd())
        growth.append(server.resident_mb - before)
    assert growth[-1] < 20, growth
    fds = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    deadline = time.monotonic() + 5
    while fds > 60 and time.monotonic() < deadline:
        time.sleep(0.05)
        fds = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    assert fds <= 60, f"{fds} files are open still"


@pytest.mark.parametrize("watched", [True, False], ids=["watch", "list"])
def test_clients_that_do_not_read_use_little_memory(tmp_path, watched):
    """Fifty clients with 20 MiB each: unread data is not buffered per client."""

    async def crowd(server) -> None:
        trust = ssl.create_default_context(cafile=str(server.ca))
        port = int(server.url.rpartition(":")[2])
        line = (
            f"GET /api/v1/namespaces/default/configmaps?watch={str(watched).lower()} HTTP/1.1\r\nHost: x\r\n"
        )
        head = (line + f"Authorization: Bearer {server.token}\r\n\r\n").encode()
        writers = []
        for _ in range(50):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust, limit=4096)
            writer.write(head)
            assert await asyncio.wait_for(reader.readline(), 20)
            writers.append(writer)
        assert server.resident_mb - before < 500
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    with running(tmp_path) as server:
        client = server.client()
        for number in range(20):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"big-{number}"}}
            body["data"] = {"a": "x" * 1_000_000}
            assert send(client, "POST", "/api/v1/namespaces/default/configmaps", body).status == 201
        client.close()
        before = server.resident_mb
        asyncio.run(crowd(server))
