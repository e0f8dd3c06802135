"""Compaction during writes: a watch that starts within the window receives everything, one below it expires."""

import asyncio
import threading
from contextlib import ExitStack
from datetime import timedelta

import pytest

from e2e.apiserver_process import in_parallel, sent, story
from picokube import ApiServerSettings, running
from picokube.apiserver.storage import broadcaster
from picokube.apiserver.storage.compaction import CompactionPolicy
from picokube.apiserver.storage.store import StoreSettings
from support.api_servers import _read_kubeconfig
from support.kube_http import HttpClient

MAPS = "/api/v1/namespaces/default/configmaps"
OBJECTS, BURSTS, BURST = 20, 10, 40
WINDOW = 200
"""Number of revisions kept. Far fewer are kept in memory, so that watches read from the log during compaction."""


class ServerInThread:
    """A server with a small memory cache in its own loop and thread."""

    def __init__(self, directory):
        self._settings = ApiServerSettings(
            data_dir=directory,
            bare=True,
            storage=StoreSettings(history_events=20, prune_rows=16),
            compaction=CompactionPolicy(
                at_least=WINDOW, at_most=WINDOW, age=timedelta(0), every=timedelta(milliseconds=5)
            ),
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(30), "the server did not start"
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    async def _serve(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with running(self._settings) as server:
            self._url, self._token, self._ca = _read_kubeconfig(server.kubeconfig)
            self._ready.set()
            await self._stop.wait()

    def client(self):
        return HttpClient(url=self._url, token=self._token, ca=self._ca)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(broadcaster, "STRETCH", 16)
    with ServerInThread(tmp_path) as server:
        yield server


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.close()


def test_compaction_under_load_loses_no_watch_within_the_window(server, client):
    in_parallel(server, [("POST", MAPS, config_map(f"m{n}")) for n in range(OBJECTS)])
    began = newest(client)
    with ExitStack() as open_watches:
        watches = [(began, open_watches.enter_context(opened(client, began)))]
        for burst in range(BURSTS):
            patches = [(f"{MAPS}/m{n % OBJECTS}", {"data": {"turn": f"{burst}-{n}"}}) for n in range(BURST)]
            in_parallel(server, [("PATCH", path, patch) for path, patch in patches])
            now = newest(client)
            for back in (0, WINDOW // 3, WINDOW - BURST):
                since = max(began, now - back)
                watches.append((since, open_watches.enter_context(opened(client, since))))
        last = int(sent(client, "POST", MAPS, config_map("last"))["metadata"]["resourceVersion"])
        stories = [(since, story(watch, last)) for since, watch in watches]
    whole = stories[0][1]
    assert len(whole) == BURSTS * BURST + 1
    for since, reported in stories:
        assert reported == [event for event in whole if event[0] > since]


def test_a_watch_that_started_in_the_window_may_be_slow(server, client):
    """Its history is longer than the buffers of server and sockets; the window moves past it meanwhile."""
    began = int(sent(client, "POST", MAPS, config_map("m"))["metadata"]["resourceVersion"])
    large = [{"data": {"text": "x" * 100_000, "n": f"{n}"}} for n in range(WINDOW - BURST)]
    in_parallel(server, [("PATCH", f"{MAPS}/m", patch) for patch in large])
    with opened(client, began) as slow:
        small = [{"data": {"text": None, "n": f"-{n}"}} for n in range(WINDOW)]
        in_parallel(server, [("PATCH", f"{MAPS}/m", patch) for patch in small])
        reported = story(slow, newest(client))
    assert len(reported) == len(large) + len(small)


def test_revisions_behind_the_window_are_expired(server, client):
    began = int(sent(client, "POST", MAPS, config_map("m"))["metadata"]["resourceVersion"])
    in_parallel(server, [("PATCH", f"{MAPS}/m", {"data": {"n": str(n)}}) for n in range(WINDOW + BURST)])
    with opened(client, began) as watch:
        event = watch.next(seconds=10)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def newest(client):
    return int(sent(client, "GET", f"{MAPS}?limit=1")["metadata"]["resourceVersion"])


def opened(client, since):
    return client.stream(f"{MAPS}?watch=true&resourceVersion={since}", seconds=30)
